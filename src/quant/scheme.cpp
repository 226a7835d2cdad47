#include "quant/scheme.h"

#include <fmt/format.h>

namespace conclave {
namespace {

// The type of the scales where it is not the family's usual one.
std::string scale_suffix(DType scale, DType usual) {
  if (scale == usual) return {};
  if (scale == DType::f8e8m0) return "_ue8m0";
  return fmt::format("_{}", to_string(scale));
}

std::string fp8_name(const QuantScheme& s) {
  if (s.scale_rows == 1 && s.scale_cols == 32 && s.scale == DType::f8e8m0) return s.dynamic ? "mxfp8_dynamic" : "mxfp8";
  std::string name;
  if (s.dynamic && s.scale_rows == 1) {
    name = s.scale_cols == 0 ? "fp8_token" : fmt::format("fp8_token{}", s.scale_cols);
  } else if (s.scale_cols == 0 && s.scale_rows <= 1) {
    name = s.scale_rows == 0 ? "fp8_tensor" : "fp8_channel";
  } else {
    name = s.scale_rows == s.scale_cols ? fmt::format("fp8_block{}", s.scale_rows)
                                        : fmt::format("fp8_block{}x{}", s.scale_rows, s.scale_cols);
  }
  return name + scale_suffix(s.scale, DType::f32);
}

std::string int4_name(const QuantScheme& s) {
  return (s.scale_cols == 0 ? std::string("int4_channel") : fmt::format("int4_g{}", s.scale_cols)) + (s.zero_point ? "_zp" : "") +
         scale_suffix(s.scale, DType::bf16);
}

// Words for a combination that no published format uses.
std::string spelled_out(const QuantScheme& s) {
  constexpr std::string_view kCodes[] = {"f32", "f16", "bf16", "f8e4m3", "e2m1", "int4"};
  std::string out(kCodes[static_cast<int>(s.code)]);
  if (s.scaled) out += fmt::format(", {} scale per {}x{}", to_string(s.scale), s.scale_rows, s.scale_cols);
  if (s.global) out += ", global scale";
  if (s.zero_point) out += ", zero points";
  if (s.dynamic) out += ", dynamic";
  return out;
}

}  // namespace

std::string to_string(const QuantScheme& s) {
  if (s == kF32) return "f32";
  if (s == kF16) return "f16";
  if (s == kBf16) return "bf16";
  if (s == kNvfp4) return "nvfp4";
  QuantScheme still = s;
  still.dynamic = false;
  if (still == kMxfp4) return s.dynamic ? "mxfp4_dynamic" : "mxfp4";
  if (s.scaled && !s.global && s.code == Code::f8e4m3 && !s.zero_point) return fp8_name(s);
  if (s.scaled && !s.global && s.code == Code::int4 && s.scale_rows == 1 && !s.dynamic) return int4_name(s);
  return spelled_out(s);
}

}  // namespace conclave
