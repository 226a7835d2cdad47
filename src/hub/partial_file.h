#pragma once
// The blob that is being fetched: bytes from the start of the file, under a name that says they are not all there. An interrupted
// download goes on from their end.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "hub/digest.h"
#include "hub/stop.h"

namespace conclave {

class PartialFile {
 public:
  // Opens it or makes it, with its folders; what is there is read for the checksum, and dropped where it is longer than `size`.
  // Throws Error: device (the system's reason), cancelled.
  PartialFile(std::filesystem::path, std::string blob_name, std::int64_t size, const StopFlag&);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  std::int64_t length() const noexcept { return length_; }
  std::int64_t size() const noexcept { return size_; }
  bool whole() const noexcept { return length_ == size_; }

  // Throws Error: device (no space left, ...), corrupt (more than `size`).
  void append(std::span<const std::byte>);
  void restart();
  // Checks the whole file against the blob's name and gives it that name. A wrong one is removed: Error{corrupt}.
  void publish(const std::filesystem::path& blob);

 private:
  void hash_what_is_there(const StopFlag&);

  std::filesystem::path path_;
  std::string blob_name_;
  std::int64_t size_, length_ = 0;
  BlobDigest digest_;
  int file_ = -1;
};

}  // namespace conclave
