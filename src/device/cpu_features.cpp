#include "device/cpu_features.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/in_quotes.h"
#include "base/nearest.h"
#include "conclave/error.h"
#include "device/cgroup.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace conclave {
namespace {

#if defined(__x86_64__)
struct Cpuid {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Zeros when the processor does not know the leaf.
Cpuid cpuid(unsigned leaf, unsigned subleaf = 0) {
  Cpuid r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// Which register states the operating system saves (XCR0). Only valid when CPUID says OSXSAVE.
unsigned saved_states() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

constexpr bool all(unsigned value, unsigned bits) { return (value & bits) == bits; }

// Bits by the Intel 64 manual, volume 2, CPUID.
CpuIsa best_isa() {
  constexpr unsigned kOsxsaveAvxFmaF16c = (1u << 27) | (1u << 28) | (1u << 12) | (1u << 29);  // leaf 1 ecx
  constexpr unsigned kAvx2Bmi2 = (1u << 5) | (1u << 8);                                       // leaf 7 ebx
  constexpr unsigned kAvx512FDqBwVl = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);      // leaf 7 ebx
  constexpr unsigned kAvx512Vnni = 1u << 11;                                                  // leaf 7 ecx
  constexpr unsigned kAvx512Bf16 = 1u << 5;                                                   // leaf 7.1 eax
  constexpr unsigned kYmm = 0x06, kZmm = 0xe6;                                                // XCR0
  const Cpuid basic = cpuid(1);
  const Cpuid extended = cpuid(7);
  if (!all(basic.ecx, kOsxsaveAvxFmaF16c) || !all(extended.ebx, kAvx2Bmi2)) return CpuIsa::scalar;
  const unsigned saved = saved_states();
  if (!all(saved, kYmm)) return CpuIsa::scalar;
  const bool avx512 = all(extended.ebx, kAvx512FDqBwVl) && all(extended.ecx, kAvx512Vnni) && extended.eax >= 1 &&
                      all(cpuid(7, 1).eax, kAvx512Bf16) && all(saved, kZmm);
  return avx512 ? CpuIsa::avx512 : CpuIsa::avx2;
}

std::string brand_string() {
  constexpr unsigned kFirst = 0x80000002u, kLast = 0x80000004u;
  if (cpuid(0x80000000u).eax < kLast) return "";
  std::string name;
  for (unsigned leaf = kFirst; leaf <= kLast; ++leaf) {
    const Cpuid r = cpuid(leaf);
    char text[16];
    std::memcpy(text, &r, sizeof text);
    name.append(text, sizeof text);
  }
  return name.c_str();  // up to the first NUL
}
#else
CpuIsa best_isa() { return CpuIsa::scalar; }
std::string brand_string() { return ""; }
#endif

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

CpuIsa detect_cpu_isa() {
  const CpuIsa best = best_isa();
  const char* wanted = std::getenv("CONCLAVE_ISA");
  if (wanted == nullptr) return best;
  constexpr std::string_view kKnown[] = {to_string(CpuIsa::scalar), to_string(CpuIsa::avx2), to_string(CpuIsa::avx512)};
  const auto* found = std::find(std::begin(kKnown), std::end(kKnown), wanted);
  if (found == std::end(kKnown))
    throw Error(Errc::bad_input, fmt::format("CONCLAVE_ISA must be scalar, avx2 or avx512, not {}{}", in_quotes(wanted),
                                             did_you_mean(wanted, kKnown)));
  const auto isa = static_cast<CpuIsa>(found - std::begin(kKnown));
  if (isa > best)
    throw Error(Errc::unsupported, fmt::format("CONCLAVE_ISA={} asks for more than this processor has, which is {}; unset it",
                                               wanted, to_string(best)));
  return isa;
}

std::string cpu_model_name() { return trimmed(brand_string()); }

std::vector<int> allowed_cpus() {
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  // The kernel refuses a set smaller than its own; machines with more than 1024 CPUs exist.
  for (int capacity = 1024; capacity <= (1 << 20); capacity *= 4) {
    const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(static_cast<unsigned>(capacity)));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<unsigned>(capacity));
    if (set == nullptr || sched_getaffinity(0, bytes, set.get()) != 0) continue;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < capacity; ++cpu)
      if (CPU_ISSET_S(static_cast<unsigned>(cpu), bytes, set.get())) cpus.push_back(cpu);
    return cpus;
  }
  return {0};
}

int usable_threads() {
  const auto allowed = static_cast<double>(allowed_cpus().size());
  return std::max(1, static_cast<int>(std::min(allowed, read_cgroup_limits("/").cpus)));
}

std::int64_t last_level_cache_bytes() {
  std::int64_t largest = 0;  // not sysconf(): it counts the caches of other cores on some processors
  for (int index = 0; index < 8; ++index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::int64_t kilobytes = 0;
    if (file >> kilobytes) largest = std::max(largest, kilobytes << 10);  // "32768K"
  }
  return largest;
}

}  // namespace conclave
