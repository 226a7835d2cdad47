#pragma once
// The instruction sets that this processor runs, asked of the compiler's own CPUID code and not of the one under test elsewhere.
#include <string>
#include <vector>

#include "device/caps.h"

namespace conclave::test {

inline std::vector<CpuIsa> runnable_isas() {
  std::vector<CpuIsa> isas = {CpuIsa::scalar};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) isas.push_back(CpuIsa::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16")) {
    isas.push_back(CpuIsa::avx512);
  }
#endif
  return isas;
}

inline std::string isa_name(CpuIsa isa) { return std::string(to_string(isa)); }

}  // namespace conclave::test
