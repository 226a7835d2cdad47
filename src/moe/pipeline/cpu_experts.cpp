#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/math.h"
#include "device/for_each_throwing.h"
#include "kernels/cpu/dispatch.h"
#include "moe/pipeline/expert_tiles.h"
#include "moe/pipeline/experts.h"
#include "ops/cpu/packed_matrix.h"

namespace conclave::moe {
namespace {

struct PackedExpert {
  PackedExpert() = default;
  explicit PackedExpert(const Expert& e)
      : up(e.up),
        down(e.down),
        gate_bias(to_floats(e.gate_bias)),
        up_bias(to_floats(e.up_bias)),
        down_bias(to_floats(e.down_bias)) {
    if (e.gate) gate = PackedMatrix(e.gate);
  }
  bool in_place() const noexcept { return up.in_place() || down.in_place() || gate.in_place(); }
  PackedMatrix gate, up, down;
  std::vector<float> gate_bias, up_bias, down_bias;
};

class CpuExperts final : public Experts {
 public:
  CpuExperts(const MoeProblem& problem, const ExpertWeights& weights, Device& device)
      : problem_(problem),
        kernels_(kernel_table(device.caps().isa)),
        threads_(device.caps().threads),
        experts_(weights.experts.size()) {
    const auto stream = device.new_stream();
    for_each_throwing(pool_of(*stream), std::ssize(experts_), [&](std::int64_t i, int) {
      const auto at = static_cast<std::size_t>(i);
      experts_[at] = PackedExpert(weights.experts[at]);
    });
  }

  std::size_t workspace_bytes(std::int64_t tokens) const override {
    const std::int64_t pairs = tokens * problem_.top_k;
    const auto words = [](std::int64_t n) { return Workspace::padded(static_cast<std::size_t>(n) * 4); };
    return words(problem_.local_count + 1) + 2 * words(pairs) + words(most_active(pairs)) +
           (problem_.activation.gated ? 2 : 1) * words(pairs * problem_.inter) + words(pairs * problem_.hidden) +
           words(threads_ * scratch_floats());
  }

  ExpertRows run(const Dispatched& in, Workspace& workspace, Stream& stream) const noexcept override {
    const std::int64_t tokens = in.tokens.shape[0], pairs = tokens * problem_.top_k;
    CONCLAVE_CHECK(pool_of(stream).size() <= threads_);
    const TensorView row_of = workspace.take(DType::i32, {tokens, problem_.top_k});
    Grouping groups{span(workspace, problem_.local_count + 1),
                    span(workspace, pairs),
                    {row_of.as<std::int32_t>(), static_cast<std::size_t>(pairs)},
                    span(workspace, most_active(pairs))};
    group_by_expert({in.ids.as<std::int32_t>(), static_cast<std::size_t>(pairs)}, problem_.top_k, groups);

    float* gate = problem_.activation.gated ? workspace.take<float>(pairs * problem_.inter) : nullptr;
    float* inner = workspace.take<float>(pairs * problem_.inter);
    const TensorView rows = workspace.take(DType::f32, {pairs, problem_.hidden});
    float* scratch = workspace.take<float>(threads_ * scratch_floats());

    const Tiling up(groups, problem_.inter, problem_.hidden, pool_of(stream).size());
    pool_of(stream).for_each(up.tasks(), [&](std::int64_t task, int worker) noexcept {
      run_gate_up(in, groups, up[task], gate, inner, scratch + worker * scratch_floats());
    });
    const Tiling down(groups, problem_.hidden, problem_.inter, pool_of(stream).size());
    pool_of(stream).for_each(down.tasks(), [&](std::int64_t task, int worker) noexcept {
      run_down(inner, down[task], rows.as<float>(), scratch + worker * scratch_floats());
    });
    return {rows, row_of};
  }

  std::string describe() const override {
    return fmt::format("{} kernels, {}", kernels_.isa, experts_.empty() ? "no experts here" : experts_.front().up.describe());
  }

  bool in_place() const noexcept override { return std::ranges::any_of(experts_, &PackedExpert::in_place); }

 private:
  static std::span<std::int32_t> span(Workspace& workspace, std::int64_t count) {
    return {workspace.take<std::int32_t>(count), static_cast<std::size_t>(count)};
  }
  std::int64_t most_active(std::int64_t pairs) const { return std::min<std::int64_t>(problem_.local_count, pairs); }
  std::int64_t scratch_floats() const { return round_up<std::int64_t>(std::max(problem_.hidden, problem_.inter), kTileStep); }

  // inner[slot, tile] = act(gate, up); gate serves as scratch.
  void run_gate_up(const Dispatched& in, const Grouping& groups, const Tile& tile, float* gate, float* inner,
                   float* scratch) const {
    const PackedExpert& e = experts_[static_cast<std::size_t>(tile.expert)];
    const std::int64_t n = problem_.inter;
    GemmArgs args{};
    args.x = in.tokens.as<float>();
    args.x_stride = in.tokens.stride[0];
    args.x_rows = groups.token_of.data() + tile.first;
    args.scratch = scratch;
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
  void run_down(const float* inner, const Tile& tile, float* rows, float* scratch) const {
    const PackedExpert& e = experts_[static_cast<std::size_t>(tile.expert)];
    GemmArgs args{};
    args.x = inner + tile.first * problem_.inter;
    args.x_stride = problem_.inter;
    args.scratch = scratch;
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
  int threads_;  // of the device's pool: as many scratch rows are needed
  std::vector<PackedExpert> experts_;
};

}  // namespace

std::unique_ptr<Experts> make_cpu_experts(const MoeProblem& problem, const ExpertWeights& weights, Device& device) {
  return std::make_unique<CpuExperts>(problem, weights, device);
}

}  // namespace conclave::moe
