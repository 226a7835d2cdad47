#include "text/replacement.h"

#include "conclave/error.h"
#include "io/json.h"
#include "text/json_fields.h"
#include "text/text_size.h"

namespace conclave {

Pattern Pattern::from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path, {"String", "Regex"});
  const auto literal = fields.optional_text("String");
  const auto regex = fields.optional_text("Regex");
  if (literal.has_value() == regex.has_value()) throw Error(Errc::corrupt, path + ": expected one of \"String\" and \"Regex\"");
  Pattern pattern;
  if (regex) {
    pattern.regex_.emplace(*regex, path);
    return pattern;
  }
  if (literal->empty()) throw Error(Errc::unsupported, path + ": an empty string as a pattern");
  pattern.literal_ = *literal;
  return pattern;
}

Replacement Replacement::from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path, {"pattern", "content"});
  return {Pattern::from_json(fields.need("pattern"), fields.path_of("pattern")), fields.text("content")};
}

std::string Replacement::apply(std::string_view text) const {
  std::string out;
  std::size_t copied = 0;
  pattern.for_each_match(text, [&](std::size_t begin, std::size_t end) {
    out.append(text, copied, begin - copied);
    out.append(content);
    copied = end;
    check_text_size(out.size());
  });
  out.append(text, copied);
  return out;
}

}  // namespace conclave
