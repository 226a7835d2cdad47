#include "ops/reference/reference_linear.h"

#include <fmt/format.h>

#include <vector>

#include "ops/bias.h"
#include "quant/codec.h"

namespace conclave {
namespace {

class ReferenceLinear final : public Linear {
 public:
  ReferenceLinear(const QuantMatrix& weight, ConstTensorView bias)
      : rows_(weight.rows),
        cols_(weight.cols),
        weight_(allocate_host(static_cast<std::size_t>(rows_ * cols_) * sizeof(float))),
        bias_(bias_values(bias, rows_)),
        words_(fmt::format("{}, reference", to_string(weight.scheme))) {
    const Codec& codec = codec_for(weight.scheme);
    for (std::int64_t r = 0; r < rows_; ++r) codec.decode_row(weight, r, {row(r), static_cast<std::size_t>(cols_)});
  }

  std::int64_t rows() const noexcept override { return rows_; }
  std::int64_t cols() const noexcept override { return cols_; }
  std::size_t workspace_bytes(std::int64_t) const override { return 0; }
  std::string describe() const override { return words_; }

  void run(ConstTensorView x, TensorView out, Workspace&, Stream& stream) const noexcept override {
    const std::int64_t tokens = x.shape[0];
    pool_of(stream).for_each(tokens == 0 ? 0 : rows_, [&](std::int64_t r, int) noexcept {
      const float* const w = row(r);
      for (std::int64_t t = 0; t < tokens; ++t) {
        double sum = bias_.empty() ? 0.0 : static_cast<double>(bias_[static_cast<std::size_t>(r)]);
        for (std::int64_t k = 0; k < cols_; ++k) sum += static_cast<double>(w[k]) * static_cast<double>(x.row<float>(t)[k]);
        out.row<float>(t)[r] = static_cast<float>(sum);
      }
    });
  }

 private:
  float* row(std::int64_t r) const noexcept { return reinterpret_cast<float*>(weight_.data()) + r * cols_; }

  std::int64_t rows_, cols_;
  Buffer weight_;  // [rows, cols] f32
  std::vector<float> bias_;
  std::string words_;
};

}  // namespace

std::unique_ptr<Linear> make_reference_linear(const QuantMatrix& weight, ConstTensorView bias) {
  return std::make_unique<ReferenceLinear>(weight, bias);
}

}  // namespace conclave
