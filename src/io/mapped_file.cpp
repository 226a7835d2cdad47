#include "io/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "conclave/error.h"

namespace conclave {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string system_words(int error) { return std::generic_category().message(error); }

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int error = errno;
    const Errc code = error == ENOENT || error == ENOTDIR ? Errc::not_found : Errc::device;
    throw Error(code, fmt::format("cannot open '{}': {}", path.string(), system_words(error)));
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    throw Error(Errc::device, fmt::format("cannot examine '{}': {}", path.string(), system_words(errno)));
  if (!S_ISREG(info.st_mode)) throw Error(Errc::corrupt, fmt::format("'{}' is not a regular file", path.string()));

  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}, path.string(), false));
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED)
    throw Error(Errc::device, fmt::format("cannot map the {} bytes of '{}': {}", size, path.string(), system_words(errno)));
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(address), size}, path.string(), true));
}

std::shared_ptr<const MappedFile> MappedFile::from_memory(std::span<const std::byte> bytes, std::string name) {
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes, std::move(name), false));
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace conclave
