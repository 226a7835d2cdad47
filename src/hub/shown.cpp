#include "hub/shown.h"

#include "base/in_quotes.h"

namespace conclave {
namespace {

constexpr std::size_t kLongestAddress = 200;
constexpr std::size_t kLongestPath = 400;  // a cache in a deep folder, its model, commit and file

}  // namespace

std::string shown_address(std::string_view url) {
  std::string text;
  if (const std::size_t scheme = url.find("://"); scheme != url.npos) {
    text = url.substr(0, scheme + 3);
    url.remove_prefix(text.size());
  }
  // The last '@' of all, also behind a '/': a password may hold what should have been escaped.
  if (const std::size_t at = url.rfind('@'); at != url.npos) url.remove_prefix(at + 1);
  text += url.substr(0, url.find_first_of("?#"));
  const std::string quoted = in_quotes(text, kLongestAddress);
  return quoted.substr(1, quoted.size() - 2);
}

std::string shown_path(const std::filesystem::path& path) { return in_quotes(path.string(), kLongestPath); }

}  // namespace conclave
