#include "hub/folders.h"

#include <fmt/core.h>

#include <system_error>

#include "conclave/error.h"
#include "hub/shown.h"

namespace conclave {

void make_folders(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  std::error_code unreadable;
  if (failed && !std::filesystem::is_directory(path, unreadable))
    throw Error(Errc::device, fmt::format("cannot make the folder {}: {}; HF_HUB_CACHE can name another place for models",
                                          shown_path(path), failed.message()));
}

}  // namespace conclave
