#include "device/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "device/cgroup.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::int64_t available(const fs::path& root) {
  std::ifstream in(root / "proc/meminfo");  // "MemAvailable:   22108984 kB"
  std::string key, line;
  for (std::int64_t kilobytes = 0; in >> key >> kilobytes && std::getline(in, line);)
    if (key == "MemAvailable:") return kilobytes * 1024;
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

std::int64_t addresses_left(const fs::path& root) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(kNoLimit)) return kNoLimit;
  std::int64_t used_pages = 0;
  std::ifstream(root / "proc/self/statm") >> used_pages;
  return static_cast<std::int64_t>(limit.rlim_cur) - used_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace

std::int64_t usable_memory(const fs::path& root) {
  const std::int64_t least = std::min({available(root), read_cgroup_limits(root).memory_left, addresses_left(root)});
  return std::max<std::int64_t>(0, least);
}

}  // namespace conclave
