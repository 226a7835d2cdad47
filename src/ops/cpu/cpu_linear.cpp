#include "ops/cpu/cpu_linear.h"

#include <fmt/format.h>

#include "conclave/error.h"
#include "kernels/cpu/dispatch.h"
#include "ops/bias.h"
#include "ops/cpu/gemm_tiles.h"
#include "ops/cpu/int_rows.h"
#include "ops/cpu/packed_matrix.h"
#include "ops/cpu/tiled_matrix.h"

namespace conclave {
namespace {

void add_bias(const std::vector<float>& bias, const GemmTile& tile, TensorView out) noexcept {
  if (bias.empty()) return;
  for (std::int64_t t = tile.token; t < tile.token + tile.tokens; ++t) {
    for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r) out.row<float>(t)[r] += bias[static_cast<std::size_t>(r)];
  }
}

// Weights in rows, float32 activations.
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
    for_each_tile(pool_of(stream), rows(), cols(), tokens, [&](const GemmTile& tile) noexcept {
      GemmArgs args{};
      args.w = packed_.matrix();
      args.x = x.row<float>(tile.token);
      args.x_stride = x.stride[0];
      set_result(args, tile, out);
      kernels_.gemm[packed_.format()](&args);
      add_bias(bias_, tile, out);
    });
  }

  bool in_place() const noexcept override { return packed_.in_place(); }
  std::string describe() const override { return fmt::format("{}, {}", packed_.describe(), kernels_.isa); }

 private:
  PackedMatrix packed_;
  std::vector<float> bias_;
  const KernelTable& kernels_;
};

// 4-bit weights in tiles, activations as 16-bit integers.
class CpuTiledLinear final : public Linear {
 public:
  CpuTiledLinear(const QuantMatrix& weight, ConstTensorView bias, const DeviceCaps& caps)
      : tiled_(weight),
        bias_(bias_values(bias, weight.rows)),
        kernels_(kernel_table(caps.isa)),
        words_(
            fmt::format("{} in tiles, activations as 16-bit integers, {}", to_string(weight.scheme), tile_kernels_isa(caps.isa))) {}

  std::int64_t rows() const noexcept override { return tiled_.matrix().rows; }
  std::int64_t cols() const noexcept override { return tiled_.matrix().cols; }

  std::size_t workspace_bytes(std::int64_t tokens) const override { return int_rows_bytes(tokens, cols()); }

  void run(ConstTensorView x, TensorView out, Workspace& workspace, Stream& stream) const noexcept override {
    const std::int64_t tokens = x.shape[0], blocks = tiled_.matrix().blocks;
    if (tokens == 0) return;
    CONCLAVE_CHECK(x.shape == (Shape{tokens, cols()}) && out.shape == (Shape{tokens, rows()}));
    const Workspace::Scope scope(workspace);
    IntBlock* const rounded = take_int_blocks(workspace, tokens * blocks);
    to_int_rows(kernels_, x, rounded, pool_of(stream));
    for_each_tile(pool_of(stream), rows(), cols(), tokens, [&](const GemmTile& tile) noexcept {
      TileArgs args{};
      args.w = tiled_.matrix();
      args.x = rounded + tile.token * blocks;
      args.x_stride = blocks;
      set_result(args, tile, out);
      kernels_.tile[tiled_.format()](&args);
      add_bias(bias_, tile, out);
    });
  }

  bool in_place() const noexcept override { return false; }
  std::string describe() const override { return words_; }

 private:
  TiledMatrix tiled_;
  std::vector<float> bias_;
  const KernelTable& kernels_;
  std::string words_;
};

// In plain C++ the kernels over tiles are no faster for one token and far slower for many (docs/performance.md).
bool in_tiles(const QuantScheme& scheme, std::int64_t cols, const DeviceCaps& caps) {
  return caps.isa != CpuIsa::scalar && TiledMatrix::supports(scheme, cols);
}

}  // namespace

std::size_t cpu_linear_workspace_bytes(const QuantScheme& scheme, std::int64_t cols, std::int64_t tokens, const DeviceCaps& caps) {
  return in_tiles(scheme, cols, caps) ? int_rows_bytes(tokens, cols) : 0;
}

std::unique_ptr<Linear> make_cpu_linear(const QuantMatrix& weight, ConstTensorView bias, const DeviceCaps& caps) {
  if (!PackedMatrix::supports(weight.scheme))
    throw Error(Errc::unsupported, fmt::format("no CPU kernel and no decoder reads weights of {}", to_string(weight.scheme)));
  if (in_tiles(weight.scheme, weight.cols, caps)) return std::make_unique<CpuTiledLinear>(weight, bias, caps);
  return std::make_unique<CpuLinear>(weight, bias, caps);
}

}  // namespace conclave
