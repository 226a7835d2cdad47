#include "hub/file_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/log.h"
#include "hub/folders.h"
#include "hub/shown.h"

namespace conclave {
namespace {

constexpr std::chrono::milliseconds kPoll{100};
constexpr mode_t kMode = 0664;  // users of a group share a cache, and its locks

// The holder may have removed the file between our opening and locking it; then we hold a lock nobody else will see.
bool is_still_there(int file, const std::filesystem::path& path) {
  struct stat ours, theirs;
  return ::fstat(file, &ours) == 0 && ::stat(path.c_str(), &theirs) == 0 && ours.st_ino == theirs.st_ino &&
         ours.st_dev == theirs.st_dev;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const StopFlag& stop) {
  make_folders(path.parent_path());
  bool told = false;
  for (;;) {
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
    if (file_ < 0)
      throw Error(Errc::device,
                  fmt::format("cannot make the lock file {}: {}", shown_path(path), std::generic_category().message(errno)));
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) {
      if (is_still_there(file_, path)) return;
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      log::warning("no lock on {} ({}); another download of the same file at this time would disturb this one", shown_path(path),
                   std::generic_category().message(errno));
      return;
    } else if (!told) {
      told = true;
      log::info("waiting for another program that is downloading '{}'", path.stem().string());
    }
    ::close(file_);
    file_ = -1;
    stop.sleep(kPoll);
  }
}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace conclave
