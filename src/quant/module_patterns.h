#pragma once
// Lists of modules as quantisation configurations write them: "lm_head", "model.layers.*.self_attn", "re:.*mlp.gate$".
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {

// Python's fnmatch: '*' any run (dots too), '?' one character, '[a-z]' and '[!a-z]' one of a set. Case counts; the whole text must
// match. Linear in the text for each '*', whatever the pattern.
bool glob_match(std::string_view pattern, std::string_view text) noexcept;

// What one entry says about the module at a path such as "model.layers.0.self_attn.q_proj":
//   "re:X"    the regular expression X matches at the beginning of the path (Python's re.match)
//   a glob    matches the whole path, or the path of a module above it
//   a name    occurs in the path as a run of whole components: "model.layers.1" is in "model.layers.1.mlp" and not in
//             "model.layers.10.mlp"; "gate" is in "model.layers.0.mlp.gate" and not in "...mlp.gate_proj"
// A leading "language_model." (or "model.language_model.") may be there or not, in the entry and in the path.
class ModulePatterns {
 public:
  ModulePatterns();
  ~ModulePatterns();
  ModulePatterns(ModulePatterns&&) noexcept;
  ModulePatterns& operator=(ModulePatterns&&) noexcept;

  // Every module is compared with every one of them. Of what is beyond only the number is kept (regexes(), globs()).
  static constexpr std::size_t kMostRegexes = 256, kMostGlobs = 1024;

  // What is wrong with the entry (a bad regular expression, an empty or huge one) is returned; "" when it was taken.
  std::string add(std::string_view entry);
  // Throws Error{bad_input}, naming the entry, when a regular expression takes too long.
  bool match(std::string_view module) const;

  std::size_t regexes() const { return regex_count_; }
  std::size_t globs() const { return glob_count_; }
  bool empty() const { return entries_.empty(); }
  const std::vector<std::string>& entries() const { return entries_; }  // as they were added

 private:
  struct Regex;
  std::vector<std::string> entries_;
  std::set<std::string, std::less<>> names_;  // without a leading "language_model."
  std::vector<std::string> globs_;
  std::vector<std::unique_ptr<Regex>> regexes_;
  std::size_t glob_count_ = 0, regex_count_ = 0;  // as they were added
};

}  // namespace conclave
