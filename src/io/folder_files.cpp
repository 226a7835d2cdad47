#include <fmt/core.h>

#include <algorithm>
#include <system_error>

#include "base/in_quotes.h"
#include "conclave/error.h"
#include "io/file_set.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

class FolderFiles final : public FileSet {
 public:
  explicit FolderFiles(fs::path folder) : folder_(std::move(folder)) {}

  std::shared_ptr<const MappedFile> find(std::string_view name) const override {
    const auto path = path_of(name);
    return path ? MappedFile::open(*path) : nullptr;
  }

  std::optional<FileHead> head(std::string_view name, std::size_t most) const override {
    const auto path = path_of(name);
    return path ? std::optional(read_head(*path, most)) : std::nullopt;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    std::error_code failed;
    for (fs::directory_iterator it(folder_, failed), end; !failed && it != end; it.increment(failed)) {
      std::error_code unreadable;
      if (it->is_regular_file(unreadable)) out.push_back(it->path().filename().string());
    }
    if (failed) throw Error(Errc::device, fmt::format("cannot list '{}': {}", folder_.string(), failed.message()));
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string location() const override { return folder_.string(); }

 private:
  // Nothing when there is no such file.
  std::optional<fs::path> path_of(std::string_view name) const {
    if (!is_plain_file_name(name))
      throw Error(Errc::corrupt, fmt::format("{} is not a plain file name; files of a model lie in its own folder '{}'",
                                             in_quotes(name), folder_.string()));
    fs::path path = folder_ / name;
    std::error_code ignored;
    const fs::file_status here = fs::symlink_status(path, ignored);
    if (here.type() == fs::file_type::not_found) return std::nullopt;
    if (here.type() == fs::file_type::symlink && !fs::exists(path, ignored))
      throw Error(Errc::not_found, fmt::format("'{}' is a link to '{}', which does not exist; was the download complete?",
                                               path.string(), fs::read_symlink(path, ignored).string()));
    return path;
  }

  fs::path folder_;
};

}  // namespace

std::optional<FileHead> FileSet::head(std::string_view name, std::size_t most) const {
  const auto file = find(name);
  if (file == nullptr) return std::nullopt;
  const std::span<const std::byte> bytes = file->bytes().first(std::min(most, file->bytes().size()));
  return FileHead{{bytes.begin(), bytes.end()}, file->bytes().size(), file->name()};
}

bool is_plain_file_name(std::string_view name) noexcept {
  constexpr std::string_view kForbidden("/\\\0", 3);
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(kForbidden) == std::string_view::npos;
}

std::unique_ptr<FileSet> open_folder(const fs::path& folder) {
  std::error_code ignored;
  const fs::file_status status = fs::status(folder, ignored);
  if (!fs::exists(status)) throw Error(Errc::not_found, fmt::format("there is no folder '{}'", folder.string()));
  if (!fs::is_directory(status))
    throw Error(Errc::not_found,
                fmt::format("'{}' is not a folder; expected the folder that holds the model's files", folder.string()));
  return std::make_unique<FolderFiles>(folder);
}

}  // namespace conclave
