#include "device/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <string>

namespace conclave {
namespace {

namespace fs = std::filesystem;

// A machine's /proc and /sys as far as control groups show there.
class Cgroups : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("conclave_cgroup_" + std::to_string(::getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  CgroupLimits limits() const { return read_cgroup_limits(root_); }

  static constexpr const char* kV2Mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
  fs::path root_;
};

TEST_F(Cgroups, NothingThereMeansNoLimit) {
  EXPECT_TRUE(std::isinf(limits().cpus));
  EXPECT_EQ(limits().memory_left, CgroupLimits::kNone);
}

TEST_F(Cgroups, V2ReadsItsOwnGroup) {
  write("proc/self/mountinfo", kV2Mount);
  write("proc/self/cgroup", "0::/app\n");
  write("sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/app/memory.max", "1073741824\n");
  EXPECT_DOUBLE_EQ(limits().cpus, 1.5);
  EXPECT_EQ(limits().memory_left, 1 << 30);
}

TEST_F(Cgroups, V2TakesTheTightestOfAllGroupsAround) {
  write("proc/self/mountinfo", kV2Mount);
  write("proc/self/cgroup", "0::/slice/unit/leaf\n");
  write("sys/fs/cgroup/slice/cpu.max", "400000 100000\n");
  write("sys/fs/cgroup/slice/memory.max", "1000000\n");
  write("sys/fs/cgroup/slice/unit/cpu.max", "200000 100000\n");
  write("sys/fs/cgroup/slice/unit/memory.max", "max\n");
  write("sys/fs/cgroup/slice/unit/leaf/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/slice/unit/leaf/memory.max", "2000000\n");
  EXPECT_DOUBLE_EQ(limits().cpus, 2.0);
  EXPECT_EQ(limits().memory_left, 1000000);
}

TEST_F(Cgroups, MemoryInUseIsTakenOffTheLimitAndFilePagesAreNot) {
  write("proc/self/mountinfo", kV2Mount);
  write("proc/self/cgroup", "0::/app\n");
  write("sys/fs/cgroup/app/memory.max", "1000000\n");
  write("sys/fs/cgroup/app/memory.current", "700000\n");
  EXPECT_EQ(limits().memory_left, 300000);
  write("sys/fs/cgroup/app/memory.stat", "anon 100000\ninactive_anon 100000\ninactive_file 400000\nactive_file 50000\n");
  EXPECT_EQ(limits().memory_left, 750000);
  write("sys/fs/cgroup/app/memory.current", "2000000\n");  // over its limit
  EXPECT_EQ(limits().memory_left, 0);

  write("proc/self/mountinfo", "32 31 0:28 / /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "4:memory:/app\n");
  write("sys/fs/cgroup/memory/app/memory.limit_in_bytes", "1000000\n");
  write("sys/fs/cgroup/memory/app/memory.usage_in_bytes", "900000\n");
  write("sys/fs/cgroup/memory/app/memory.stat", "active_file 7\ntotal_inactive_file 200000\ntotal_active_file 100000\n");
  EXPECT_EQ(limits().memory_left, 400000);
}

TEST_F(Cgroups, V2InANamespaceLimitsAtTheMount) {
  write("proc/self/mountinfo", kV2Mount);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(limits().cpus, 3.0);
}

TEST_F(Cgroups, V1InAContainerWithoutANamespace) {
  write("proc/self/mountinfo",
        "31 30 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
        "32 30 0:28 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
        "33 30 0:29 /docker/abc /sys/fs/cgroup/cpuset ro,nosuid - cgroup cgroup rw,cpuset\n");
  write("proc/self/cgroup", "5:cpuset:/docker/abc\n4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc/inner\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  EXPECT_DOUBLE_EQ(limits().cpus, 4.0);
  EXPECT_EQ(limits().memory_left, 512 << 20);
}

TEST_F(Cgroups, BothVersionsSideBySide) {
  write("proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "4:memory:/job/7\n1:cpu:/\n0::/\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "4096000\n");
  EXPECT_TRUE(std::isinf(limits().cpus));
  EXPECT_EQ(limits().memory_left, 4096000);
}

TEST_F(Cgroups, NonsenseLimitsNothing) {
  write("proc/self/mountinfo", std::string("not a mount line\n- \n") + kV2Mount);
  write("proc/self/cgroup", "no colon\n0::/../../etc\n");
  write("sys/fs/cgroup/cpu.max", "lots of it\n");
  write("sys/fs/cgroup/memory.max", "-5\n");
  write("etc/cpu.max", "100000 100000\n");
  EXPECT_TRUE(std::isinf(limits().cpus));
  EXPECT_EQ(limits().memory_left, CgroupLimits::kNone);
}

}  // namespace
}  // namespace conclave
