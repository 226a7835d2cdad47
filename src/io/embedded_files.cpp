#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/in_quotes.h"
#include "conclave/error.h"
#include "io/file_set.h"

namespace conclave {
namespace {

class EmbeddedFiles final : public FileSet {
 public:
  EmbeddedFiles(const std::string& name, std::vector<EmbeddedFile> files)
      : location_("embedded:" + name), files_(std::move(files)) {
    std::sort(files_.begin(), files_.end(), [](const EmbeddedFile& a, const EmbeddedFile& b) { return a.name < b.name; });
    for (std::size_t i = 0; i < files_.size(); ++i) {
      CONCLAVE_CHECK(is_plain_file_name(files_[i].name), std::string(files_[i].name));
      CONCLAVE_CHECK(i == 0 || files_[i - 1].name != files_[i].name, std::string(files_[i].name));
    }
  }

  std::shared_ptr<const MappedFile> find(std::string_view name) const override {
    if (!is_plain_file_name(name))
      throw Error(Errc::corrupt, fmt::format("{} is not a plain file name; expected one of {}", in_quotes(name), location_));
    const auto at = std::lower_bound(files_.begin(), files_.end(), name,
                                     [](const EmbeddedFile& file, std::string_view wanted) { return file.name < wanted; });
    if (at == files_.end() || at->name != name) return nullptr;
    return MappedFile::from_memory(at->bytes, fmt::format("{}/{}", location_, name));
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const EmbeddedFile& file : files_) out.emplace_back(file.name);
    return out;
  }

  std::string location() const override { return location_; }

 private:
  std::string location_;
  std::vector<EmbeddedFile> files_;  // sorted by name
};

}  // namespace

std::unique_ptr<FileSet> embedded_files(std::string name, std::vector<EmbeddedFile> files) {
  return std::make_unique<EmbeddedFiles>(std::move(name), std::move(files));
}

}  // namespace conclave
