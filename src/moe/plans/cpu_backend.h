#pragma once
// What the backends of CPUs ask of every problem alike, and how each one's cost is counted.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/support.h"
#include "device/caps.h"
#include "moe/problem.h"

namespace conclave::moe {

// Beside well_formed(). `kernels`: whether there are some for the weights, and `none` the words when there are not; `kept` is what
// activations are kept in: "f32".
void need_of_cpus(Support&, const MoeProblem&, const DeviceCaps&, bool kernels, std::string none, std::string_view kept);

// Of one thread.
struct CpuSpeed {
  double bits_per_weight, bytes_per_us, products_per_us;
};
// Microseconds of a call: bytes of the active experts from memory, or products, whichever takes longer.
double cpu_cost(const MoeProblem&, const DeviceCaps&, std::int64_t tokens, const CpuSpeed&);

}  // namespace conclave::moe
