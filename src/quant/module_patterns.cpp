#include "quant/module_patterns.h"

#include <cstdint>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include "conclave/error.h"

namespace conclave {
namespace {

constexpr std::size_t kLongestEntry = 1024;
constexpr std::uint32_t kMatchLimit = 100'000;  // steps of one match
constexpr std::uint32_t kHeapLimitKiB = 1024;   // memory of one match
constexpr std::string_view kNested = "language_model.";
constexpr std::string_view kWildcards = "*?[";

// One set of a glob, at pattern[at] == '[': whether it holds c, and where the pattern goes on. Without a closing bracket it is a
// plain character.
bool set_holds(std::string_view pattern, std::size_t at, char c, std::size_t& next) noexcept {
  std::size_t i = at + 1;
  const bool inverted = i < pattern.size() && pattern[i] == '!';
  if (inverted) ++i;
  const std::size_t close = i < pattern.size() ? pattern.find(']', i + 1) : std::string_view::npos;  // "[]x]": ']' may come first
  if (close == std::string_view::npos) {
    next = at + 1;
    return c == '[';
  }
  bool holds = false;
  while (i < close) {
    const bool range = i + 2 < close && pattern[i + 1] == '-';
    const char last = range ? pattern[i + 2] : pattern[i];
    holds = holds || (pattern[i] <= c && c <= last);
    i += range ? 3 : 1;
  }
  next = close + 1;
  return holds != inverted;
}

bool is_glob(std::string_view entry) { return entry.find_first_of(kWildcards) != std::string_view::npos; }

// One of the names is in the path, from one dot (or an end) to another.
bool holds_name(const std::set<std::string, std::less<>>& names, std::string_view path) {
  if (names.empty()) return false;
  for (std::size_t begin = 0; begin < path.size();) {
    std::size_t end = begin;
    while (end != std::string_view::npos) {
      end = path.find('.', end + 1);
      if (names.contains(path.substr(begin, end == std::string_view::npos ? end : end - begin))) return true;
    }
    const std::size_t dot = path.find('.', begin);
    if (dot == std::string_view::npos) break;
    begin = dot + 1;
  }
  return false;
}

// The glob matches the path or a module above it, which both begin with what stands before its first wildcard.
bool glob_matches_above(std::string_view pattern, std::string_view path) {
  if (!path.starts_with(pattern.substr(0, pattern.find_first_of(kWildcards)))) return false;
  for (std::size_t end = path.size(); end != std::string_view::npos && end != 0; end = path.rfind('.', end - 1))
    if (glob_match(pattern, path.substr(0, end))) return true;
  return false;
}

// Models with a vision part nest the language model, and not every tool writes that down.
std::string without_nesting(std::string_view path) {
  if (path.substr(0, kNested.size()) == kNested) return std::string(path.substr(kNested.size()));
  const std::string nested = "model." + std::string(kNested);
  if (path.substr(0, nested.size()) == nested) return "model." + std::string(path.substr(nested.size()));
  return std::string(path);
}

// The ways to write the path that without_nesting() returned.
std::vector<std::string> spellings(const std::string& path) {
  std::vector<std::string> all{path, std::string(kNested) + path};
  if (path.rfind("model.", 0) == 0) all.push_back("model." + std::string(kNested) + path.substr(6));
  return all;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, star_text = 0;  // the last '*' and how far it reaches
  while (t < text.size()) {
    std::size_t next = p + 1;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '[' ? set_holds(pattern, p, text[t], next) : pattern[p] == '?' || pattern[p] == text[t])) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

struct ModulePatterns::Regex {
  std::string entry;  // with its "re:"
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code{nullptr, pcre2_code_free};
  std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> limits{nullptr, pcre2_match_context_free};

  bool match(std::string_view text) const {
    const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
        pcre2_match_data_create_from_pattern(code.get(), nullptr), pcre2_match_data_free);
    const int rc = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, data.get(), limits.get());
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
      throw Error(Errc::bad_input, fmt::format("'{}' takes too long or too much memory to match '{}'", entry, text));
    return rc >= 0;
  }
};

ModulePatterns::ModulePatterns() = default;
ModulePatterns::~ModulePatterns() = default;
ModulePatterns::ModulePatterns(ModulePatterns&&) noexcept = default;
ModulePatterns& ModulePatterns::operator=(ModulePatterns&&) noexcept = default;

std::string ModulePatterns::add(std::string_view entry) {
  if (entry.empty()) return "an empty entry names no module";
  if (entry.size() > kLongestEntry)
    return fmt::format("an entry of {} characters; at most {} are read", entry.size(), kLongestEntry);
  if (entry.substr(0, 3) != "re:") {
    if (is_glob(entry)) {
      if (++glob_count_ > kMostGlobs) return {};
      globs_.emplace_back(entry);
    } else {
      names_.insert(without_nesting(entry));
    }
    entries_.emplace_back(entry);
    return {};
  }
  if (++regex_count_ > kMostRegexes) return {};
  auto regex = std::make_unique<Regex>();
  regex->entry = entry;
  const std::string_view pattern = entry.substr(3);
  int error = 0;
  std::size_t offset = 0;
  regex->code.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_ANCHORED, &error, &offset, nullptr));
  if (!regex->code) {
    PCRE2_UCHAR words[128] = {};
    pcre2_get_error_message(error, words, sizeof(words));
    return fmt::format("'{}' is not a regular expression: {} at character {}", entry, reinterpret_cast<const char*>(words), offset);
  }
  pcre2_jit_compile(regex->code.get(), PCRE2_JIT_COMPLETE);  // where it fails, the interpreter matches
  regex->limits.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(regex->limits.get(), kMatchLimit);
  pcre2_set_heap_limit(regex->limits.get(), kHeapLimitKiB);
  regexes_.push_back(std::move(regex));
  entries_.emplace_back(entry);
  return {};
}

bool ModulePatterns::match(std::string_view module) const {
  const std::string path = without_nesting(module);
  if (holds_name(names_, path)) return true;
  if (globs_.empty() && regexes_.empty()) return false;
  for (const std::string& spelling : spellings(path)) {
    for (const std::string& glob : globs_)
      if (glob_matches_above(glob, spelling)) return true;
    for (const auto& regex : regexes_)
      if (regex->match(spelling)) return true;
  }
  return false;
}

}  // namespace conclave
