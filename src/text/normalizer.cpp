#include "text/normalizer.h"

#include <fmt/format.h>

#include <memory>

#include "conclave/error.h"
#include "io/json.h"
#include "text/byte_alphabet.h"
#include "text/characters.h"
#include "text/json_fields.h"
#include "text/replacement.h"
#include "text/sequence.h"
#include "text/text_size.h"
#include "text/utf8.h"

namespace conclave {
namespace {

std::string strip(std::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    std::size_t at = 0;
    if (!is_whitespace(next_character(text, at))) break;
    text.remove_prefix(at);
  }
  while (right && !text.empty()) {
    std::size_t end = text.size();
    if (!is_whitespace(previous_character(text, end))) break;
    text.remove_suffix(text.size() - end);
  }
  return std::string(text);
}

std::string without_accents(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (!is_nonspacing_mark(next_character(text, at))) out.append(text, begin, at - begin);
  }
  return out;
}

}  // namespace

void Normalizer::add(const Json& json, const std::string& path) {
  for_each_component(json, path, "normalizers", [&](const Json& part, const std::string& type, const std::string& where) {
    const auto plain = [&](Step step) {
      JsonFields(part, where, {});
      steps_.push_back(std::move(step));
    };
    const auto form = [&](NormalForm to) { plain([to](const std::string& text) { return normalize(text, to); }); };
    if (type == "NFC") return form(NormalForm::nfc);
    if (type == "NFD") return form(NormalForm::nfd);
    if (type == "NFKC") return form(NormalForm::nfkc);
    if (type == "NFKD") return form(NormalForm::nfkd);
    if (type == "Lowercase") return plain([](const std::string& text) { return to_lower(text); });
    if (type == "StripAccents") return plain([](const std::string& text) { return without_accents(text); });
    if (type == "ByteLevel") {
      return plain([](const std::string& text) {
        std::string out;
        append_as_byte_characters(out, text);
        return out;
      });
    }
    if (type == "Replace") {
      const auto replacement = std::make_shared<const Replacement>(Replacement::from_json(part, where));
      steps_.push_back([replacement](const std::string& text) { return replacement->apply(text); });
    } else if (type == "Prepend") {
      const std::string prefix = JsonFields(part, where, {"prepend"}).text("prepend");
      steps_.push_back([prefix](const std::string& text) { return text.empty() ? text : prefix + text; });
    } else if (type == "Strip") {
      const JsonFields fields(part, where, {"strip_left", "strip_right"});
      const bool left = fields.flag("strip_left", true), right = fields.flag("strip_right", true);
      steps_.push_back([left, right](const std::string& text) { return strip(text, left, right); });
    } else {
      throw Error(Errc::unsupported, fmt::format("{}: unknown normalizer '{}'", where, type));
    }
  });
}

Normalizer Normalizer::from_json(const Json* json, const std::string& path) {
  Normalizer normalizer;
  if (json != nullptr) normalizer.add(*json, path);
  return normalizer;
}

std::string Normalizer::apply(std::string text) const {
  for (const Step& step : steps_) {
    text = step(std::move(text));
    check_text_size(text.size());
  }
  return text;
}

}  // namespace conclave
