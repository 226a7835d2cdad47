#include "ops/reference/reference_scan.h"

#include <algorithm>
#include <cmath>

namespace conclave {
namespace {

double at(const ConstTensorView& vector, std::int64_t i) { return static_cast<double>(vector.as<float>()[i]); }

// [rows, heads, values] -> the values of one head of one row.
template <class Byte>
auto* head_of(const BasicTensorView<Byte>& x, std::int64_t row, std::int64_t head) {
  return x.template row<float>(row) + head * x.stride[1];
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// One row of one head; s [P, N].
void scan_row(const SelectiveScan& scan, std::int64_t row, std::int64_t head, float* s, float* out) {
  const std::int64_t dim = scan.x.shape[2], states = scan.b.shape[2];
  const std::int64_t group = head / (scan.x.shape[1] / scan.b.shape[1]);
  const float* const x = head_of(scan.x, row, head);
  const float* const b = head_of(scan.b, row, group);
  const float* const c = head_of(scan.c, row, group);
  const double delta = softplus(static_cast<double>(scan.dt.row<float>(row)[head]) + at(scan.dt_bias, head));
  const double decay = std::exp(-std::exp(at(scan.a_log, head)) * delta);
  for (std::int64_t p = 0; p < dim; ++p) {
    double sum = at(scan.d, head) * static_cast<double>(x[p]);
    for (std::int64_t n = 0; n < states; ++n) {
      float& value = s[p * states + n];
      value =
          static_cast<float>(decay * static_cast<double>(value) + delta * static_cast<double>(x[p]) * static_cast<double>(b[n]));
      sum += static_cast<double>(value) * static_cast<double>(c[n]);
    }
    out[p] = static_cast<float>(sum);
  }
}

}  // namespace

void reference_causal_conv(ConstTensorView x, ConstTensorView weight, ConstTensorView bias, const Batch& batch, TensorView history,
                           TensorView out) noexcept {
  const std::int64_t channels = x.shape[1], width = weight.shape[1], kept = width - 1;
  for (const SequenceRows& s : batch.sequences) {
    float* const before = history.row<float>(s.slot);
    if (s.begins()) std::fill_n(before, kept * channels, 0.0f);
    for (std::int64_t c = 0; c < channels; ++c) {
      // The channel's inputs, oldest first: `kept` from before the batch, then its rows.
      const auto input = [&](std::int64_t i) {
        return i < kept ? before[i * channels + c] : x.row<float>(s.first_row + i - kept)[c];
      };
      for (std::int64_t t = 0; t < s.rows; ++t) {
        double sum = at(bias, c);
        for (std::int64_t k = 0; k < width; ++k) sum += at(weight, c * width + k) * static_cast<double>(input(t + k));
        out.row<float>(s.first_row + t)[c] = static_cast<float>(sum);
      }
      for (std::int64_t k = 0; k < kept; ++k) before[k * channels + c] = input(s.rows + k);
    }
  }
}

void reference_selective_scan(const SelectiveScan& scan, const Batch& batch, TensorView state, TensorView out) noexcept {
  const std::int64_t values = scan.x.shape[2] * scan.b.shape[2];
  for (const SequenceRows& s : batch.sequences) {
    for (std::int64_t head = 0; head < scan.x.shape[1]; ++head) {
      float* const own = head_of(state, s.slot, head);
      if (s.begins()) std::fill_n(own, values, 0.0f);
      for (std::int64_t row = s.first_row; row < s.first_row + s.rows; ++row)
        scan_row(scan, row, head, own, head_of(out, row, head));
    }
  }
}

}  // namespace conclave
