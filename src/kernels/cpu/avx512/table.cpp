// What the avx512 kernels offer.
#include <stdint.h>

#include "kernels/cpu/table.h"

namespace conclave::avx512 {
#include "kernels/cpu/entries.inc"

extern const KernelTable kTable;
const KernelTable kTable = {
    .isa = "avx512",
    .gemm = {gemm_f32, gemm_bf16, gemm_fp8, gemm_nvfp4, gemm_mxfp4, gemm_int4},
    .dot = dot,
    .dot_bf16 = dot_bf16,
    .axpy = axpy,
    .axpy_bf16 = axpy_bf16,
    .to_bf16 = to_bf16,
    .rms_norm = rms_norm,
    .silu_mul = silu_mul,
    .exp_sum = exp_sum,
    .scan_step = scan_step,
};

}  // namespace conclave::avx512
