#pragma once
// What messages show of addresses and paths that come from the environment, from users and from servers.
#include <filesystem>
#include <string>
#include <string_view>

namespace conclave {

// No user and password ("https://user:pw@host" becomes "https://host"), no query, which is where storage hosts have their
// signatures; cut when long, control bytes escaped.
std::string shown_address(std::string_view url);

// In quotes, cut when long, control bytes escaped.
std::string shown_path(const std::filesystem::path&);

}  // namespace conclave
