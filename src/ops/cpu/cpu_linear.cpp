#include "ops/cpu/cpu_linear.h"

#include <fmt/format.h>

#include <algorithm>

#include "conclave/error.h"
#include "kernels/cpu/dispatch.h"
#include "ops/bias.h"
#include "ops/cpu/gemm_tiles.h"
#include "ops/cpu/packed_matrix.h"

namespace conclave {
namespace {

class CpuLinear final : public Linear {
 public:
  CpuLinear(const QuantMatrix& weight, ConstTensorView bias, const DeviceCaps& caps)
      : packed_(weight), bias_(bias_values(bias, weight.rows)), kernels_(kernel_table(caps.isa)) {}

  std::int64_t rows() const noexcept override { return packed_.matrix().rows; }
  std::int64_t cols() const noexcept override { return packed_.matrix().cols; }

  std::size_t workspace_bytes(std::int64_t /*tokens*/) const override { return 0; }

  void run(ConstTensorView x, TensorView out, Workspace&, Stream& stream) const noexcept override {
    const std::int64_t tokens = x.shape[0];
    if (tokens == 0) return;
    CONCLAVE_CHECK(x.shape == (Shape{tokens, cols()}) && out.shape == (Shape{tokens, rows()}));
    ThreadPool& pool = pool_of(stream);
    const GemmTiles tiles = plan_gemm(rows(), cols(), tokens, pool.size());
    // All rows with the first tokens, then with the next ones: the threads share the activations.
    pool.for_each(tiles.tasks(), [&](std::int64_t task, int) noexcept {
      const std::int64_t token = task / tiles.row_tiles * tiles.tokens, row = task % tiles.row_tiles * tiles.rows;
      GemmArgs args{};
      args.w = packed_.matrix();
      args.x = x.row<float>(token);
      args.x_stride = x.stride[0];
      args.tokens = std::min(tiles.tokens, tokens - token);
      args.out = out.row<float>(token);
      args.out_stride = out.stride[0];
      args.row_begin = row;
      args.row_end = std::min(row + tiles.rows, rows());
      kernels_.gemm[packed_.format()](&args);
      if (!bias_.empty()) add_bias(args);
    });
  }

  bool in_place() const noexcept override { return packed_.in_place(); }
  std::string describe() const override { return fmt::format("{}, {}", packed_.describe(), kernels_.isa); }

 private:
  void add_bias(const GemmArgs& args) const noexcept {
    for (std::int64_t t = 0; t < args.tokens; ++t) {
      float* const out = args.out + t * args.out_stride;
      for (std::int64_t r = args.row_begin; r < args.row_end; ++r) out[r] += bias_[static_cast<std::size_t>(r)];
    }
  }

  PackedMatrix packed_;
  std::vector<float> bias_;
  const KernelTable& kernels_;
};

}  // namespace

std::unique_ptr<Linear> make_cpu_linear(const QuantMatrix& weight, ConstTensorView bias, const DeviceCaps& caps) {
  if (!PackedMatrix::supports(weight.scheme))
    throw Error(Errc::unsupported, fmt::format("no CPU kernel and no decoder reads weights of {}", to_string(weight.scheme)));
  return std::make_unique<CpuLinear>(weight, bias, caps);
}

}  // namespace conclave
