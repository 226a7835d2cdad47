#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/dispatch.h"
#include "moe/pipeline/expert_tiles.h"
#include "moe/pipeline/experts.h"
#include "ops/cpu/int_rows.h"
#include "ops/cpu/tiled_matrix.h"

namespace conclave::moe {
namespace {

using TiledExpert = PreparedExpert<TiledMatrix>;

class CpuTiledExperts final : public Experts {
 public:
  CpuTiledExperts(const MoeProblem& problem, const ExpertWeights& weights, Device& device)
      : problem_(problem),
        isa_(device.caps().isa),
        kernels_(kernel_table(isa_)),
        experts_(prepare_experts<TiledMatrix>(weights, device)) {}

  std::size_t workspace_bytes(std::int64_t tokens) const override {
    const std::int64_t pairs = tokens * problem_.top_k;
    const auto words = [](std::int64_t n) { return Workspace::padded(static_cast<std::size_t>(n) * 4); };
    return grouping_bytes(problem_, tokens) + (problem_.activation.gated ? 2 : 1) * words(pairs * problem_.inter) +
           words(pairs * problem_.hidden) + int_rows_bytes(tokens, problem_.hidden) + int_rows_bytes(pairs, problem_.inter);
  }

  ExpertRows run(const Dispatched& in, Workspace& workspace, Stream& stream) const noexcept override {
    const std::int64_t tokens = in.tokens.shape[0], pairs = tokens * problem_.top_k;
    const Grouping groups = group_slots(problem_, in.ids, workspace);

    Buffers b{};
    b.x = take_int_blocks(workspace, tokens * blocks_of(problem_.hidden));
    b.gate = problem_.activation.gated ? workspace.take<float>(pairs * problem_.inter) : nullptr;
    b.up = workspace.take<float>(pairs * problem_.inter);
    b.inner = take_int_blocks(workspace, pairs * blocks_of(problem_.inter));
    const TensorView rows = workspace.take(DType::f32, {pairs, problem_.hidden});

    ThreadPool& pool = pool_of(stream);
    to_int_rows(kernels_, in.tokens, b.x, pool);
    const Tiling up(groups, problem_.inter, problem_.hidden, pool.size());
    pool.for_each(up.tasks(), [&](std::int64_t task, int) noexcept { run_gate_up(groups, up[task], b); });
    const Tiling down(groups, problem_.hidden, problem_.inter, pool.size());
    pool.for_each(down.tasks(), [&](std::int64_t task, int) noexcept { run_down(b.inner, down[task], rows.as<float>()); });
    return {rows, rows_of_slots(groups, problem_, tokens)};
  }

  std::string describe() const override {
    return fmt::format("{} kernels, {} in tiles, activations as 16-bit integers", tile_kernels_isa(isa_),
                       to_string(problem_.weights));
  }
  bool in_place() const noexcept override { return false; }

 private:
  struct Buffers {
    IntBlock* x;       // [tokens, blocks of H]
    float *gate, *up;  // [pairs, I]; gate is null where there is none
    IntBlock* inner;   // [pairs, blocks of I]: act(gate, up)
  };

  static std::int64_t blocks_of(std::int64_t columns) { return ceil_div(columns, kIntBlock); }

  // A tile's rows are whole blocks of the columns of down, so its own activations can be rounded here.
  void run_gate_up(const Grouping& groups, const Tile& tile, const Buffers& b) const noexcept {
    const TiledExpert& e = experts_[static_cast<std::size_t>(tile.expert)];
    const std::int64_t n = problem_.inter, count = tile.end_row - tile.first_row;
    TileArgs args{};
    args.x = b.x;
    args.x_stride = blocks_of(problem_.hidden);
    args.x_rows = groups.token_of.data() + tile.first;
    multiply(e.up, tile, b.up, n, args);
    add_bias(e.up_bias, tile, b.up, n);
    if (b.gate != nullptr) {
      multiply(e.gate, tile, b.gate, n, args);
      add_bias(e.gate_bias, tile, b.gate, n);
    }
    for (std::int64_t p = tile.first; p < tile.first + tile.count; ++p) {
      float* up = b.up + p * n + tile.first_row;
      activate_row(problem_.activation, kernels_, b.gate != nullptr ? b.gate + p * n + tile.first_row : nullptr, up, count);
      kernels_.to_int_blocks(up, count, b.inner + p * blocks_of(n) + tile.first_row / kIntBlock);
    }
  }

  // rows[slot, tile] = down(inner) + bias.
  void run_down(const IntBlock* inner, const Tile& tile, float* rows) const noexcept {
    const TiledExpert& e = experts_[static_cast<std::size_t>(tile.expert)];
    TileArgs args{};
    args.x_stride = blocks_of(problem_.inter);
    args.x = inner + tile.first * args.x_stride;
    multiply(e.down, tile, rows, problem_.hidden, args);
    add_bias(e.down_bias, tile, rows, problem_.hidden);
  }

  void multiply(const TiledMatrix& w, const Tile& tile, float* out, std::int64_t out_stride, TileArgs args) const noexcept {
    args.w = w.matrix();
    args.tokens = tile.count;
    args.out = out + tile.first * out_stride;
    args.out_stride = out_stride;
    args.row_begin = tile.first_row;
    args.row_end = tile.end_row;
    kernels_.tile[w.format()](&args);
  }

  MoeProblem problem_;
  CpuIsa isa_;
  const KernelTable& kernels_;
  std::vector<TiledExpert> experts_;
};

}  // namespace

std::unique_ptr<Experts> make_cpu_tiled_experts(const MoeProblem& problem, const ExpertWeights& weights, Device& device) {
  return std::make_unique<CpuTiledExperts>(problem, weights, device);
}

}  // namespace conclave::moe
