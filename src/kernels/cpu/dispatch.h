#pragma once
// Chooses the table of CPU kernels for an instruction set.
#include <string>
#include <utility>
#include <vector>

#include "device/caps.h"
#include "kernels/cpu/table.h"

namespace conclave {

// The complete table of an instruction set: an entry it lacks (all of them where the set was not built) is that of the next lower
// set. Whether this processor can run it is the caller's to know (detect_cpu_isa in device/cpu_features.h).
const KernelTable& kernel_table(CpuIsa) noexcept;

// Each entry of kernel_table(isa), by name, and the set it comes from: {"gemm_nvfp4", "avx2"}.
std::vector<std::pair<std::string, std::string>> kernel_origins(CpuIsa);
// The set that the kernels over tiles come from: "avx2".
std::string tile_kernels_isa(CpuIsa);

}  // namespace conclave
