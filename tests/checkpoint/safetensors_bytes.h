#pragma once
// Safetensors files made by hand, right or wrong, in exactly sized memory so that the sanitizer sees every step outside.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"

namespace conclave {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

inline std::string little_endian(std::uint64_t value) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

// The header as given (not padded), then `data_bytes` bytes 0, 1, 2, ...
inline std::string safetensors_text(std::string_view header, std::size_t data_bytes) {
  std::string out = little_endian(header.size()) + std::string(header);
  for (std::size_t i = 0; i < data_bytes; ++i) out += static_cast<char>(i);
  return out;
}

inline Bytes safetensors_bytes(std::string_view header, std::size_t data_bytes) {
  return bytes_of(safetensors_text(header, data_bytes));
}

// "t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}
inline std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + std::string(shape) +
         ",\"data_offsets\":" + std::string(offsets) + "}";
}

}  // namespace conclave
