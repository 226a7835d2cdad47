#pragma once
// Folders of the cache, made when they are needed.
#include <filesystem>

namespace conclave {

// With all folders above. Throws Error{device} with the path and the system's reason.
void make_folders(const std::filesystem::path&);

}  // namespace conclave
