#include "device/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::string& comma_list, std::string_view word) {
  const std::vector<std::string> words = split(comma_list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<std::int64_t> parse_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The blank-separated words of a file's first line.
std::vector<std::string> read_words(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return {};
  std::vector<std::string> words = split(line, ' ');
  std::erase(words, "");
  return words;
}

std::optional<std::int64_t> read_number(const fs::path& file) {
  const std::vector<std::string> words = read_words(file);
  return words.size() == 1 ? parse_number(words[0]) : std::nullopt;
}

// One line of mountinfo: "31 23 0:28 /root/in/fs /mount/point rw,opts [optional ...] - fstype source super,opts".
struct Mount {
  std::string root, point, type, options;
};

std::optional<Mount> parse_mount(const std::string& line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string::npos) return std::nullopt;
  const std::vector<std::string> left = split(line.substr(0, dash), ' ');
  const std::vector<std::string> right = split(line.substr(dash + 3), ' ');
  if (left.size() < 6 || right.size() < 3) return std::nullopt;
  return Mount{left[3], left[4], right[0], right[2]};
}

// The process's path in the hierarchy that has `controller` (version 1), or in the unified one when it is empty.
// A line of /proc/self/cgroup: "4:memory:/a/b" or "0::/a/b".
std::optional<std::string> group_path(const fs::path& root, std::string_view controller) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : contains(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The folders of the process's group and of those around it, up to the mount, innermost first.
std::vector<fs::path> group_folders(const fs::path& root, const Mount& mount, const std::string& group) {
  // Without a cgroup namespace a container sees its full path, while the mount already starts inside of it.
  std::string inside = group;
  if (mount.root != "/" && inside.starts_with(mount.root)) inside = inside.substr(mount.root.size());
  const fs::path top = root / fs::path(mount.point).relative_path();
  std::vector<fs::path> folders;
  for (fs::path relative = fs::path(inside).relative_path().lexically_normal(); !relative.empty() && relative != ".";
       relative = relative.parent_path()) {
    if (*relative.begin() == "..") break;  // a group outside of what is mounted here
    folders.push_back(top / relative);
  }
  folders.push_back(top);
  return folders;
}

void limit_cpus(CgroupLimits& limits, std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return;
  limits.cpus = std::min(limits.cpus, static_cast<double>(*quota) / static_cast<double>(*period));
}

// How the two versions call the same things.
struct MemoryNames {
  const char *limit, *usage;
  std::string_view active_file, inactive_file;
};
constexpr MemoryNames kMemoryV1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file", "total_inactive_file"};
constexpr MemoryNames kMemoryV2{"memory.max", "memory.current", "active_file", "inactive_file"};

// Bytes that the kernel takes back before it refuses anything, although they count as used.
std::int64_t file_pages(const fs::path& stat, const MemoryNames& names) {
  std::ifstream in(stat);
  std::int64_t sum = 0, value = 0;
  for (std::string key; in >> key >> value;)
    if (key == names.active_file || key == names.inactive_file) sum += value;
  return sum;
}

void limit_memory(CgroupLimits& limits, const fs::path& folder, const MemoryNames& names) {
  const std::optional<std::int64_t> limit = read_number(folder / names.limit);  // absent: "max"
  if (!limit || *limit <= 0) return;
  const std::int64_t used = read_number(folder / names.usage).value_or(0) - file_pages(folder / "memory.stat", names);
  limits.memory_left = std::min(limits.memory_left, std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, used)));
}

void read_v2(CgroupLimits& limits, const fs::path& folder) {
  const std::vector<std::string> cpu = read_words(folder / "cpu.max");  // "max 100000" or "150000 100000"
  if (cpu.size() == 2) limit_cpus(limits, parse_number(cpu[0]), parse_number(cpu[1]));
  limit_memory(limits, folder, kMemoryV2);
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::optional<Mount> mount = parse_mount(line);
    if (!mount) continue;
    const auto each_folder = [&](std::string_view controller, auto&& read) {
      if (const auto group = group_path(root, controller))
        for (const fs::path& folder : group_folders(root, *mount, *group)) read(folder);
    };
    if (mount->type == "cgroup2") {
      each_folder("", [&](const fs::path& folder) { read_v2(limits, folder); });
    } else if (mount->type == "cgroup") {
      if (contains(mount->options, "cpu"))
        each_folder("cpu", [&](const fs::path& folder) {
          limit_cpus(limits, read_number(folder / "cpu.cfs_quota_us"), read_number(folder / "cpu.cfs_period_us"));
        });
      if (contains(mount->options, "memory"))
        each_folder("memory", [&](const fs::path& folder) { limit_memory(limits, folder, kMemoryV1); });
    }
  }
  return limits;
}

}  // namespace conclave
