#include "io/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/math.h"
#include "conclave/error.h"

namespace conclave {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// The whole pages around some bytes.
std::span<std::byte> pages_around(std::span<const std::byte> bytes) noexcept {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()) / page * page;
  const auto end = round_up(reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size(), page);
  return {reinterpret_cast<std::byte*>(begin), static_cast<std::size_t>(end - begin)};
}

std::string system_words(int error) { return std::generic_category().message(error); }

int open_to_read(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file >= 0) return file;
  const int error = errno;
  const Errc code = error == ENOENT || error == ENOTDIR ? Errc::not_found : Errc::device;
  throw Error(code, fmt::format("cannot open '{}': {}", path.string(), system_words(error)));
}

// Of a regular file.
std::size_t bytes_of(const Descriptor& file, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    throw Error(Errc::device, fmt::format("cannot examine '{}': {}", path.string(), system_words(errno)));
  if (!S_ISREG(info.st_mode)) throw Error(Errc::corrupt, fmt::format("'{}' is not a regular file", path.string()));
  return static_cast<std::size_t>(info.st_size);
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file(open_to_read(path));
  const std::size_t size = bytes_of(file, path);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}, path.string(), false));
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED)
    throw Error(Errc::device, fmt::format("cannot map the {} bytes of '{}': {}", size, path.string(), system_words(errno)));
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(address), size}, path.string(), true));
}

std::shared_ptr<const MappedFile> MappedFile::from_memory(std::span<const std::byte> bytes, std::string name) {
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes, std::move(name), false));
}

void MappedFile::give_back(std::span<const std::byte> bytes) const noexcept {
  if (!mapped_ || bytes.empty()) return;
  const std::span<std::byte> pages = pages_around(bytes);
  ::madvise(pages.data(), pages.size(), MADV_DONTNEED);  // a wish: refusal costs memory only
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

FileHead read_head(const std::filesystem::path& path, std::size_t most) {
  const Descriptor file(open_to_read(path));
  FileHead head{{}, bytes_of(file, path), path.string()};
  head.bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, head.file_bytes)));
  std::size_t done = 0;
  while (done < head.bytes.size()) {
    const ::ssize_t got = ::pread(file.get(), head.bytes.data() + done, head.bytes.size() - done, static_cast<::off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(Errc::device, fmt::format("cannot read '{}': {}", path.string(), system_words(errno)));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  head.bytes.resize(done);
  return head;
}

void touch_pages(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return;
  constexpr std::size_t kSmallestPage = 4096;
  const std::span<std::byte> pages = pages_around(bytes);
  ::madvise(pages.data(), pages.size(),
            MADV_WILLNEED);  // reading ahead beats one fault after the other; refusal changes nothing else
  const volatile std::byte* const data = bytes.data();
  for (std::size_t i = 0; i < bytes.size(); i += kSmallestPage) static_cast<void>(data[i]);
  static_cast<void>(data[bytes.size() - 1]);
}

}  // namespace conclave
