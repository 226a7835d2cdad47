#pragma once
// Limits that control groups put on this process. Version 1 (one hierarchy per controller), version 2 and both side by side are
// read; the groups above the process's own count too, since each of them limits all that lies in it.
#include <cstdint>
#include <filesystem>
#include <limits>

namespace conclave {

struct CgroupLimits {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  double cpus = std::numeric_limits<double>::infinity();  // quota / period
  std::int64_t memory_left = kNone;                       // bytes below the limit; pages of files are not counted as used
};

// Reads <root>/proc/self/{cgroup,mountinfo} and the groups' own files below <root>; root is "/" but in tests. What is absent or
// unreadable limits nothing.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root);

}  // namespace conclave
