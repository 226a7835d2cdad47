#pragma once
// The files of one model: a folder on disk, or the set built into the program. Loading code sees no difference.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"

namespace conclave {

class FileSet {
 public:
  virtual ~FileSet() = default;
  // Null when there is no such file; throws Error when it is there and cannot be read. A name that is not a plain file
  // name is refused (Errc::corrupt), because names come from untrusted index files.
  virtual std::shared_ptr<const MappedFile> find(std::string_view name) const = 0;
  // Its first bytes, at most so many; nothing when there is no such file. Throws what find() does.
  virtual std::optional<FileHead> head(std::string_view name, std::size_t most) const;
  // Sorted; sub-folders are not looked into.
  virtual std::vector<std::string> names() const = 0;
  // For messages: the folder's path or "embedded:<name>".
  virtual std::string location() const = 0;
};

// One path component: not empty, no '/', '\' or NUL in it, not "." or "..", at most 255 bytes.
bool is_plain_file_name(std::string_view name) noexcept;

// Links are followed, wherever they lead: caches of model hubs keep the bytes beside the folder and link to them.
// Throws Error{not_found} when `folder` is not a folder.
std::unique_ptr<FileSet> open_folder(const std::filesystem::path& folder);

struct EmbeddedFile {
  std::string_view name;
  std::span<const std::byte> bytes;
};
// Names and bytes outlive the result.
std::unique_ptr<FileSet> embedded_files(std::string name, std::vector<EmbeddedFile> files);

}  // namespace conclave
