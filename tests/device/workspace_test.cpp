#include "device/workspace.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace conclave {
namespace {

TEST(Workspace, GivesAlignedDisjointMemory) {
  Workspace workspace(allocate_host(3 * 64));
  float* const a = workspace.take<float>(1);
  float* const b = workspace.take<float>(16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % Workspace::kAlignment, 0u);
  EXPECT_EQ(b - a, 16);
  EXPECT_EQ(workspace.peak(), 128u);
}

TEST(Workspace, ScopesGiveBack) {
  Workspace workspace(allocate_host(256));
  float* first = nullptr;
  {
    const Workspace::Scope scope(workspace);
    first = workspace.take<float>(64);
  }
  const Workspace::Scope scope(workspace);
  EXPECT_EQ(workspace.take<float>(64), first);
  EXPECT_EQ(workspace.peak(), 256u);
}

TEST(Workspace, PaddedIsWhatTakeConsumes) {
  for (std::int64_t count : {0, 1, 15, 16, 17, 1000}) {
    const std::size_t bytes = Workspace::padded(static_cast<std::size_t>(count) * sizeof(float));
    Workspace workspace(allocate_host(bytes));
    workspace.take<float>(count);
    EXPECT_EQ(workspace.peak(), bytes) << count;
  }
}

using WorkspaceDeathTest = testing::Test;
TEST(WorkspaceDeathTest, RunningOutIsOurBug) {
  Workspace workspace(allocate_host(64));
  EXPECT_DEATH(workspace.take<float>(17), "buffer_.size");
}

}  // namespace
}  // namespace conclave
