#include "hub/partial_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "conclave/error.h"
#include "hub/folders.h"
#include "hub/shown.h"

namespace conclave {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

[[noreturn]] void refuse(const char* act, const std::filesystem::path& path) {
  const int reason = errno;
  throw Error(Errc::device, fmt::format("cannot {} {}: {}{}", act, shown_path(path), std::generic_category().message(reason),
                                        reason == ENOSPC || reason == EDQUOT
                                            ? "; free some space, or set HF_HUB_CACHE to a folder on a larger disk"
                                            : ""));
}

}  // namespace

PartialFile::PartialFile(std::filesystem::path path, std::string blob_name, std::int64_t size, const StopFlag& stop)
    : path_(std::move(path)), blob_name_(std::move(blob_name)), size_(size), digest_(blob_name_, size) {
  make_folders(path_.parent_path());
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_ < 0) refuse("open", path_);
  try {
    hash_what_is_there(stop);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

PartialFile::~PartialFile() {
  if (file_ >= 0) ::close(file_);
}

void PartialFile::hash_what_is_there(const StopFlag& stop) {
  struct stat status;
  if (::fstat(file_, &status) != 0) refuse("look at", path_);
  if (status.st_size > size_) return restart();
  std::vector<std::byte> buffer(kReadBytes);
  for (;;) {
    stop.check();
    const ssize_t got = ::read(file_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("read", path_);
    if (got == 0) return;
    length_ += got;
    if (length_ > size_) return restart();
    digest_.update(std::span(buffer).first(static_cast<std::size_t>(got)));
  }
}

void PartialFile::append(std::span<const std::byte> bytes) {
  if (static_cast<std::int64_t>(bytes.size()) > size_ - length_) {
    restart();
    throw Error(Errc::corrupt, fmt::format("the server sends more than the {} bytes it promised for blob '{}'", size_, blob_name_));
  }
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_, bytes.data(), bytes.size(), length_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse("write", path_);
    const auto part = bytes.first(static_cast<std::size_t>(written));
    digest_.update(part);
    length_ += written;
    bytes = bytes.subspan(part.size());
  }
}

void PartialFile::restart() {
  if (::ftruncate(file_, 0) != 0) refuse("empty", path_);
  length_ = 0;
  digest_ = BlobDigest(blob_name_, size_);
}

void PartialFile::publish(const std::filesystem::path& blob) {
  const std::string found = digest_.finish();
  if (found != blob_name_) {
    ::unlink(path_.c_str());
    throw Error(Errc::corrupt, fmt::format("wrong checksum: expected {}, found {}; the bytes are deleted", blob_name_, found));
  }
  // After a loss of power a name without its bytes would look like a good blob.
  if (::fdatasync(file_) != 0) refuse("write", path_);
  if (::rename(path_.c_str(), blob.c_str()) != 0) refuse("rename", path_);
}

}  // namespace conclave
