#pragma once
// What a device can do, as a plain value: selection and plans are tested with caps of machines that are not there.
#include <cstdint>
#include <string>
#include <string_view>

namespace conclave {

// Levels of the x86 kernels; each includes the ones before it.
//   avx2:   AVX2, FMA, F16C            (Haswell, Zen 1 and newer)
//   avx512: F, BW, DQ, VL, VNNI, BF16  (Sapphire Rapids, Zen 4 and newer)
enum class CpuIsa : std::uint8_t { scalar, avx2, avx512 };

constexpr std::string_view to_string(CpuIsa isa) {
  constexpr std::string_view kNames[] = {"scalar", "avx2", "avx512"};
  return kNames[static_cast<int>(isa)];
}

struct DeviceCaps {
  std::string name;  // "AMD EPYC 7B13", "NVIDIA H200"
  bool cuda = false;
  int compute_capability = 0;     // 90 = 9.0, 103 = 10.3; 0 on a CPU. Compared exactly, never by family.
  CpuIsa isa = CpuIsa::scalar;    // of the host; the level of kernels that will run on a CPU device
  int threads = 1;                // CPU: how many may compute at once (affinity and cgroup limits applied)
  std::int64_t memory_bytes = 0;  // CPU: what this process may still take; CUDA: the card's
};

}  // namespace conclave
