#include "hub/model_id.h"

#include <algorithm>

namespace conclave {
namespace {

constexpr std::size_t kLongestPart = 96;
constexpr std::size_t kLongestRevision = 255;

bool is_word(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool is_name_part(std::string_view text) noexcept {
  if (text.empty() || text.size() > kLongestPart || !is_word(text.front()) || !is_word(text.back())) return false;
  if (text.find("..") != text.npos || text.find("--") != text.npos) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

// Branches may hold '/' ("refs/pr/1"); each part becomes a folder of the cache.
bool is_revision(std::string_view text) noexcept {
  if (text.empty() || text.size() > kLongestRevision) return false;
  if (text.front() == '/' || text.back() == '/' || text.find("//") != text.npos || text.find("..") != text.npos) return false;
  if (text.front() == '.' || text.find("/.") != text.npos) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == '.' || c == '-' || c == '/' || c == '+'; });
}

}  // namespace

std::optional<ModelId> parse_model_id(std::string_view text) {
  const bool marked = text.substr(0, kHubScheme.size()) == kHubScheme;
  if (marked) text.remove_prefix(kHubScheme.size());
  ModelId id;
  if (const std::size_t at = text.find('@'); at != text.npos) {
    id.revision = text.substr(at + 1);
    text = text.substr(0, at);
    if (!is_revision(id.revision)) return std::nullopt;
  }
  const std::size_t slash = text.find('/');
  if (slash == text.npos && !marked) return std::nullopt;
  if (slash != text.npos && !is_name_part(text.substr(0, slash))) return std::nullopt;
  const std::string_view last = slash == text.npos ? text : text.substr(slash + 1);
  if (!is_name_part(last)) return std::nullopt;
  id.name = text;
  return id;
}

bool is_commit(std::string_view revision) noexcept { return is_hex(revision, 40); }

bool is_hex(std::string_view text, std::size_t digits) noexcept {
  return text.size() == digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace conclave
