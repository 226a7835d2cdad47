#include "kernels/cpu/dispatch.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/runnable.h"

namespace conclave::test {
namespace {

TEST(KernelTables, AreComplete) {
  for (const CpuIsa isa : {CpuIsa::scalar, CpuIsa::avx2, CpuIsa::avx512}) {
    const KernelTable& t = kernel_table(isa);
    EXPECT_EQ(t.isa, to_string(isa));
    for (const GemmKernel gemm : t.gemm) EXPECT_NE(gemm, nullptr);
    for (const TileKernel tile : t.tile) EXPECT_NE(tile, nullptr);
    EXPECT_NE(t.to_int_blocks, nullptr);
    EXPECT_TRUE(t.dot && t.dot_bf16 && t.axpy && t.axpy_bf16 && t.to_bf16 && t.rms_norm && t.silu_mul && t.exp_sum && t.scan_step);
    EXPECT_TRUE(t.read_streams && t.multiply_adds && t.byte_products);
  }
}

TEST(KernelTables, TellWhereEachEntryComesFrom) {
  const auto origins = kernel_origins(CpuIsa::avx512);
  ASSERT_EQ(origins.size(), 22u);
  EXPECT_EQ(origins[3].first, "gemm_nvfp4");
#if defined(__x86_64__)
  const std::string best = "avx512";
#else
  const std::string best = "scalar";
#endif
  const std::string tiles = best == "avx512" ? "avx2" : best;  // there are none for AVX-512 yet
  for (const auto& [name, isa] : origins) EXPECT_EQ(isa, name.starts_with("tile_") ? tiles : best) << name;
  for (const auto& [name, isa] : kernel_origins(CpuIsa::scalar)) EXPECT_EQ(isa, "scalar") << name;
}

TEST(KernelTables, OfThisProcessorAreTested) {
  if (runnable_isas().back() != CpuIsa::avx512) GTEST_SKIP() << "this processor has no AVX-512: its kernels were not run";
  EXPECT_EQ(runnable_isas().size(), 3u);
}

}  // namespace
}  // namespace conclave::test
