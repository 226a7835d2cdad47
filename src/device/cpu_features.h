#pragma once
// What this machine's processor and the limits set for this process allow.
#include <cstdint>
#include <string>
#include <vector>

#include "device/caps.h"

namespace conclave {

// The best level this processor and operating system support (CPUID and XGETBV), lowered by CONCLAVE_ISA=scalar|avx2|avx512
// (tests only; asking for more than there is throws Error{unsupported}, an unknown word Error{bad_input}).
CpuIsa detect_cpu_isa();

// The processor's own name, "" when it does not tell.
std::string cpu_model_name();

// CPUs this process may run on (sched_getaffinity), in order.
std::vector<int> allowed_cpus();

// How many threads may compute at once: allowed CPUs, lowered by the cgroup's cpu.max (v2) or cfs_quota (v1), at least 1.
// A broken quota rounds down: a thread beyond it would only be throttled, and the others wait for it.
int usable_threads();

// Bytes of the largest cache that a core sees; 0 when the system does not tell.
std::int64_t last_level_cache_bytes();

}  // namespace conclave
