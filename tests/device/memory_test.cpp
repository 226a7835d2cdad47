#include "device/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace conclave {
namespace {

namespace fs = std::filesystem;

// A machine's /proc and /sys as far as memory shows there.
class Memory : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("conclave_memory_" + std::to_string(::getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  fs::path root_;
};

TEST_F(Memory, IsWhatTheSystemHasAvailable) {
  write("proc/meminfo", "MemTotal: 24684096 kB\nMemFree: 4096 kB\nMemAvailable:       8192 kB\nHugePages_Total:       0\n");
  EXPECT_EQ(usable_memory(root_), 8192 * 1024);
}

TEST_F(Memory, IsLessBelowATighterGroup) {
  write("proc/meminfo", "MemTotal:       24684096 kB\nMemAvailable:       8192 kB\n");
  write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "0::/app\n");
  write("sys/fs/cgroup/app/memory.max", "4000000\n");
  write("sys/fs/cgroup/app/memory.current", "1000000\n");
  EXPECT_EQ(usable_memory(root_), 3000000);
}

TEST_F(Memory, WithoutWordsOfTheSystemItIsThePhysicalOne) {
  EXPECT_EQ(usable_memory(root_), std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
}

TEST(ThisMachine, HasAPlausibleAmount) {
  EXPECT_GT(usable_memory(), std::int64_t{16} << 20);
  EXPECT_LT(usable_memory(), std::int64_t{1} << 50);
}

}  // namespace
}  // namespace conclave
