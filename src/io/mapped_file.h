#pragma once
// Read-only bytes: a memory-mapped file, or memory that lives as long as the program (the embedded model).
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {

class MappedFile {
 public:
  // Maps the whole file (links are followed); nothing is read before the bytes are touched. An empty file is an empty span.
  // Throws Error, with the path in its words: not_found, corrupt (not a regular file), device (the system refused).
  // A file cut short by someone else while it is mapped ends the process on the next touch (SIGBUS), as mmap does.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path&);
  // Looks at memory that outlives the result; `name` is used in messages only.
  static std::shared_ptr<const MappedFile> from_memory(std::span<const std::byte>, std::string name);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  // These bytes, which lie in bytes(), need not stay in memory: the pages they touch are dropped and come back from the file when
  // they are read again. Does nothing to memory that is not a map of a file.
  void give_back(std::span<const std::byte>) const noexcept;
  // The path, or the name given to from_memory.
  const std::string& name() const noexcept { return name_; }

 private:
  MappedFile(std::span<const std::byte> bytes, std::string name, bool mapped)
      : bytes_(bytes), name_(std::move(name)), mapped_(mapped) {}
  std::span<const std::byte> bytes_;
  std::string name_;
  bool mapped_;  // the bytes are ours to unmap
};

// The first bytes of a file, read and not mapped: a map takes as many addresses as the file is long.
struct FileHead {
  std::vector<std::byte> bytes;
  std::uint64_t file_bytes = 0;
  std::string name;  // as MappedFile's
};
// At most `most` bytes, all that there are if they are fewer. Throws what MappedFile::open() does.
FileHead read_head(const std::filesystem::path&, std::size_t most);

// Has these bytes, of a map or not, brought to where reading them waits for nobody.
void touch_pages(std::span<const std::byte>) noexcept;

}  // namespace conclave
