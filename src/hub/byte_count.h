#pragma once
// Sizes in messages: "12.3 GB", in powers of 1000 as disks and the hub count.
#include <fmt/core.h>

#include <cstdint>
#include <string>

namespace conclave {

inline std::string byte_count(std::uintmax_t bytes) {
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1000;
  int unit = 0;
  for (; value >= 999.95 && unit < 5; ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace conclave
