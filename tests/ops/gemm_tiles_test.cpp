#include "ops/cpu/gemm_tiles.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

TEST(GemmTiles, CoverEverythingWithoutEmptyTasks) {
  for (int threads : {1, 2, 3, 8, 64}) {
    for (std::int64_t rows : {1, 15, 16, 17, 1000, 151936}) {
      for (std::int64_t tokens : {1, 2, 31, 32, 33, 512}) {
        for (std::int64_t cols : {1, 64, 2048, 16384}) {
          const GemmTiles t = plan_gemm(rows, cols, tokens, threads);
          EXPECT_GE(t.rows * t.row_tiles, rows);
          EXPECT_LT(t.rows * (t.row_tiles - 1), rows);
          EXPECT_GE(t.tokens * t.token_tiles, tokens);
          EXPECT_LT(t.tokens * (t.token_tiles - 1), tokens);
        }
      }
    }
  }
}

TEST(GemmTiles, NothingToDoIsNoTask) {
  EXPECT_EQ(plan_gemm(0, 64, 3, 2).tasks(), 0);
  EXPECT_EQ(plan_gemm(64, 64, 0, 2).tasks(), 0);
}

TEST(GemmTiles, LargeWorkFeedsAllThreadsAndSmallWorkStaysWhole) {
  EXPECT_GE(plan_gemm(4096, 2048, 1, 16).tasks(), 2 * 16);
  EXPECT_GE(plan_gemm(4096, 2048, 512, 16).tasks(), 2 * 16);
  EXPECT_EQ(plan_gemm(64, 64, 1, 16).tasks(), 1);
}

}  // namespace
}  // namespace conclave
