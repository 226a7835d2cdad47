// Random weights, scales and activations through the kernels of every instruction set this processor runs: all must agree with the
// scalar ones, NaN for NaN, and be batch invariant.
//
// Input: format, rows, cols, tokens, scale width, gather (a byte each), then the bytes of everything else, repeated as needed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/check.h"
#include "device/cpu_features.h"
#include "kernels/cpu/dispatch.h"

namespace conclave {
namespace {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t next() {
    if (size_ == 0) return 0;
    const std::uint8_t byte = data_[at_ % size_];
    return static_cast<std::uint8_t>(byte ^ (at_++ / size_ * 151));  // each round of the input differs from the last
  }
  // Finite, of ordinary size, zero now and then: sums neither overflow nor drown.
  float next_float() { return static_cast<float>(static_cast<std::int8_t>(next())) * (1.0f / 32.0f); }
  void fill(std::vector<std::uint8_t>& bytes) {
    for (std::uint8_t& b : bytes) b = next();
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

struct Case {
  GemmFormat format;
  std::vector<std::uint8_t> codes, scales, zeros;
  std::vector<float> x;
  std::vector<std::int32_t> x_rows;
  GemmArgs args{};
};

void append_floats(std::vector<std::uint8_t>& bytes, std::int64_t count, Bytes& in) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = in.next_float();
    bytes.resize(bytes.size() + 4);
    std::memcpy(bytes.data() + bytes.size() - 4, &value, 4);
  }
}

Case read_case(Bytes& in) {
  constexpr std::int64_t kStep[] = {1, 1, 1, 16, 32, 2}, kBits[] = {32, 16, 8, 4, 4, 4};
  Case c;
  c.format = static_cast<GemmFormat>(in.next() % kGemmFormats);
  const std::int64_t rows = 1 + in.next() % 9, cols = (1 + in.next() % 40) * kStep[c.format], tokens = in.next() % 7;
  const std::int32_t width = c.format == kGemmNvfp4 ? 16 : c.format == kGemmMxfp4 ? 32 : 2 + 2 * (in.next() % 40);
  const bool gather = in.next() % 2 != 0;
  const std::int64_t blocks = (cols + width - 1) / width;
  if (c.format == kGemmF32) {
    append_floats(c.codes, rows * cols, in);
  } else {
    c.codes.resize(static_cast<std::size_t>(rows * cols * kBits[c.format] / 8));
    in.fill(c.codes);
  }
  std::int64_t scale_bytes = 1;
  if (c.format == kGemmFp8 || c.format == kGemmInt4) {
    scale_bytes = 4;
    append_floats(c.scales, rows * blocks, in);
    append_floats(c.zeros, rows * blocks, in);
  } else {
    c.scales.resize(static_cast<std::size_t>(rows * blocks));
    in.fill(c.scales);
  }
  if (c.format == kGemmBf16 || c.format == kGemmMxfp4) {  // keep the exponents near one
    auto& exponents = c.format == kGemmBf16 ? c.codes : c.scales;
    const std::size_t step = c.format == kGemmBf16 ? 2 : 1, high = step - 1;
    for (std::size_t i = high; i < exponents.size(); i += step) {
      exponents[i] =
          static_cast<std::uint8_t>(step == 2 ? (exponents[i] & 0x80) | (0x3c + exponents[i] % 6) : 110 + exponents[i] % 34);
    }
  }
  for (std::int64_t i = 0; i < std::max<std::int64_t>(tokens, 1) * cols; ++i) c.x.push_back(in.next_float());
  for (std::int64_t t = 0; gather && t < tokens; ++t) c.x_rows.push_back(static_cast<std::int32_t>(in.next() % tokens));
  c.args.w = {c.codes.data(),
              c.scales.data(),
              c.zeros.data(),
              cols * kBits[c.format] / 8,
              blocks * scale_bytes,
              rows,
              cols,
              1,
              width,
              1.5f};
  c.args.x = c.x.data();
  c.args.x_stride = cols;
  c.args.x_rows = gather ? c.x_rows.data() : nullptr;
  c.args.tokens = tokens;
  c.args.out_stride = rows;
  c.args.row_end = rows;
  return c;
}

std::vector<float> multiply(const Case& c, CpuIsa isa, std::int64_t first_token, std::int64_t tokens) {
  std::vector<float> out(static_cast<std::size_t>(tokens * c.args.w.rows));
  GemmArgs args = c.args;
  if (args.x_rows != nullptr) {
    args.x_rows += first_token;
  } else {
    args.x += first_token * args.x_stride;
  }
  args.tokens = tokens;
  args.out = out.data();
  kernel_table(isa).gemm[c.format](&args);
  return out;
}

// |value| <= about 2^10 in every format but mxfp4 (2^20), |x| <= 4, at most 1280 columns.
bool agree(GemmFormat format, float a, float b) {
  const float largest_product = format == kGemmMxfp4 ? 0x1p22f : format == kGemmNvfp4 || format == kGemmFp8 ? 0x1p15f : 0x1p10f;
  return std::isnan(a) ? std::isnan(b) : std::abs(a - b) <= 1280.0f * largest_product * 1e-6f;
}

void check_gemm(const Case& c, CpuIsa best) {
  const std::vector<float> judge = multiply(c, CpuIsa::scalar, 0, c.args.tokens);
  for (int level = 0; level <= static_cast<int>(best); ++level) {
    const auto isa = static_cast<CpuIsa>(level);
    const std::vector<float> all = multiply(c, isa, 0, c.args.tokens);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CONCLAVE_CHECK(agree(c.format, all[i], judge[i]),
                     fmt::format("isa {} format {}: {} and {}", level, static_cast<int>(c.format), all[i], judge[i]));
    }
    for (std::int64_t t = 0; t < c.args.tokens; ++t) {
      const std::vector<float> one = multiply(c, isa, t, 1);
      for (std::size_t r = 0; r < one.size(); ++r) {
        const float together = all[static_cast<std::size_t>(t) * one.size() + r];
        CONCLAVE_CHECK(
            std::memcmp(&one[r], &together, 4) == 0 || (std::isnan(one[r]) && std::isnan(together)),
            fmt::format("isa {} format {} is not batch invariant: {} and {}", level, static_cast<int>(c.format), one[r], together));
      }
    }
  }
}

// exp_sum and silu_mul take any bits at all.
void check_elementwise(Bytes& in, CpuIsa best) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(1 + in.next() % 80) * 4);
  in.fill(bytes);
  std::vector<float> x(bytes.size() / 4);
  std::memcpy(x.data(), bytes.data(), bytes.size());
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<float> judge = x, judge_silu(x.size());
  float judge_max = 0;
  const float judge_sum = kernel_table(CpuIsa::scalar).exp_sum(judge.data(), n, &judge_max);
  kernel_table(CpuIsa::scalar).silu_mul(x.data(), x.data(), judge_silu.data(), n);
  const auto near = [](float a, float b) {
    if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b)) return (std::isnan(a) && std::isnan(b)) || a == b;
    return std::abs(a - b) <= 2e-6f * std::abs(a) + 1e-33f;
  };
  for (int level = 1; level <= static_cast<int>(best); ++level) {
    const KernelTable& table = kernel_table(static_cast<CpuIsa>(level));
    std::vector<float> e = x, silu(x.size());
    float max = 0;
    const float sum = table.exp_sum(e.data(), n, &max);
    table.silu_mul(x.data(), x.data(), silu.data(), n);
    CONCLAVE_CHECK(max == judge_max && near(sum, judge_sum), fmt::format("isa {}: sums {} and {}", level, sum, judge_sum));
    for (std::size_t i = 0; i < x.size(); ++i) {
      CONCLAVE_CHECK(near(e[i], judge[i]), fmt::format("isa {}: e^({} - {}) {} and {}", level, x[i], max, e[i], judge[i]));
      CONCLAVE_CHECK(near(silu[i], judge_silu[i]),
                     fmt::format("isa {}: silu of {}: {} and {}", level, x[i], silu[i], judge_silu[i]));
    }
  }
}

}  // namespace
}  // namespace conclave

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const conclave::CpuIsa best = conclave::detect_cpu_isa();
  conclave::Bytes in(data, size);
  conclave::check_gemm(conclave::read_case(in), best);
  conclave::check_elementwise(in, best);
  return 0;
}
