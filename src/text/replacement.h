#pragma once
// A pattern of tokenizer.json ({"String": ...} or {"Regex": ...}) and the text put in place of its matches; normalizers and
// decoders both have one.
#include <optional>
#include <string>
#include <string_view>

#include "io/json_fwd.h"
#include "text/regex.h"

namespace conclave {

class Pattern {
 public:
  // Throws Error{corrupt|unsupported}. `path` names the pattern's place.
  static Pattern from_json(const Json&, const std::string& path);

  // Calls found(begin, end) for all matches as Regex::for_each_match does.
  template <class Found>
  void for_each_match(std::string_view text, Found&& found) const {
    if (regex_) return regex_->for_each_match(text, found);
    for (std::size_t at = text.find(literal_); at != std::string_view::npos; at = text.find(literal_, at + literal_.size())) {
      found(at, at + literal_.size());
    }
  }

  bool is_literal() const { return !regex_; }
  const std::string& literal() const { return literal_; }  // never empty

 private:
  std::string literal_;
  std::optional<Regex> regex_;
};

struct Replacement {
  Pattern pattern;
  std::string content;  // taken as it is

  // Reads {"pattern": ..., "content": ...}.
  static Replacement from_json(const Json&, const std::string& path);
  std::string apply(std::string_view text) const;
};

}  // namespace conclave
