#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/math.h"
#include "kernels/cpu/dispatch.h"
#include "moe/pipeline/expert_tiles.h"
#include "moe/pipeline/experts.h"
#include "ops/cpu/packed_matrix.h"

namespace conclave::moe {
namespace {

using PackedExpert = PreparedExpert<PackedMatrix>;

class CpuExperts final : public Experts {
 public:
  CpuExperts(const MoeProblem& problem, const ExpertWeights& weights, Device& device)
      : problem_(problem), kernels_(kernel_table(device.caps().isa)), experts_(prepare_experts<PackedMatrix>(weights, device)) {}

  std::size_t workspace_bytes(std::int64_t tokens) const override {
    const std::int64_t pairs = tokens * problem_.top_k;
    const auto words = [](std::int64_t n) { return Workspace::padded(static_cast<std::size_t>(n) * 4); };
    return grouping_bytes(problem_, tokens) + (problem_.activation.gated ? 2 : 1) * words(pairs * problem_.inter) +
           words(pairs * problem_.hidden);
  }

  ExpertRows run(const Dispatched& in, Workspace& workspace, Stream& stream) const noexcept override {
    const std::int64_t tokens = in.tokens.shape[0], pairs = tokens * problem_.top_k;
    const Grouping groups = group_slots(problem_, in.ids, workspace);

    float* gate = problem_.activation.gated ? workspace.take<float>(pairs * problem_.inter) : nullptr;
    float* inner = workspace.take<float>(pairs * problem_.inter);
    const TensorView rows = workspace.take(DType::f32, {pairs, problem_.hidden});

    const Tiling up(groups, problem_.inter, problem_.hidden, pool_of(stream).size());
    pool_of(stream).for_each(up.tasks(), [&](std::int64_t task, int) noexcept { run_gate_up(in, groups, up[task], gate, inner); });
    const Tiling down(groups, problem_.hidden, problem_.inter, pool_of(stream).size());
    pool_of(stream).for_each(down.tasks(), [&](std::int64_t task, int) noexcept { run_down(inner, down[task], rows.as<float>()); });
    return {rows, rows_of_slots(groups, problem_, tokens)};
  }

  std::string describe() const override {
    return fmt::format("{} kernels, {}", kernels_.isa, experts_.empty() ? "no experts here" : experts_.front().up.describe());
  }

  bool in_place() const noexcept override {
    return std::ranges::any_of(experts_,
                               [](const PackedExpert& e) { return e.up.in_place() || e.down.in_place() || e.gate.in_place(); });
  }

 private:
  // inner[slot, tile] = act(gate, up); gate is overwritten.
  void run_gate_up(const Dispatched& in, const Grouping& groups, const Tile& tile, float* gate, float* inner) const {
    const PackedExpert& e = experts_[static_cast<std::size_t>(tile.expert)];
    const std::int64_t n = problem_.inter;
    GemmArgs args{};
    args.x = in.tokens.as<float>();
    args.x_stride = in.tokens.stride[0];
    args.x_rows = groups.token_of.data() + tile.first;
    multiply(e.up, tile, inner, n, args);
    add_bias(e.up_bias, tile, inner, n);
    if (problem_.activation.gated) {
      multiply(e.gate, tile, gate, n, args);
      add_bias(e.gate_bias, tile, gate, n);
    }
    for (std::int64_t p = tile.first; p < tile.first + tile.count; ++p) {
      const std::int64_t begin = p * n + tile.first_row;
      activate_row(problem_.activation, kernels_, gate != nullptr ? gate + begin : nullptr, inner + begin,
                   tile.end_row - tile.first_row);
    }
  }

  // rows[slot, tile] = down(inner) + bias.
  void run_down(const float* inner, const Tile& tile, float* rows) const {
    const PackedExpert& e = experts_[static_cast<std::size_t>(tile.expert)];
    GemmArgs args{};
    args.x = inner + tile.first * problem_.inter;
    args.x_stride = problem_.inter;
    multiply(e.down, tile, rows, problem_.hidden, args);
    add_bias(e.down_bias, tile, rows, problem_.hidden);
  }

  void multiply(const PackedMatrix& w, const Tile& tile, float* out, std::int64_t out_stride, GemmArgs args) const {
    args.w = w.matrix();
    args.tokens = tile.count;
    args.out = out + tile.first * out_stride;
    args.out_stride = out_stride;
    args.row_begin = tile.first_row;
    args.row_end = tile.end_row;
    kernels_.gemm[w.format()](&args);
  }

  MoeProblem problem_;
  const KernelTable& kernels_;
  std::vector<PackedExpert> experts_;
};

}  // namespace

std::unique_ptr<Experts> make_cpu_experts(const MoeProblem& problem, const ExpertWeights& weights, Device& device) {
  return std::make_unique<CpuExperts>(problem, weights, device);
}

}  // namespace conclave::moe
