#include "text/pretokenizer.h"

#include <fmt/format.h>

#include "conclave/error.h"
#include "io/json.h"
#include "text/byte_alphabet.h"
#include "text/characters.h"
#include "text/json_fields.h"
#include "text/metaspace.h"
#include "text/replacement.h"
#include "text/sequence.h"
#include "text/split.h"
#include "text/text_size.h"
#include "text/utf8.h"

namespace conclave {
namespace {

constexpr std::string_view kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kWordsPattern = R"([\w\x{200C}\x{200D}]+|[^\w\x{200C}\x{200D}\s]+)";

// Cuts at a pattern.
class Split final : public PreTokenizerStep {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    split_pieces(pieces, behavior_, invert_, [&](std::string_view text, auto&& found) { pattern_.for_each_match(text, found); });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Cuts at single characters of a kind.
class CharacterSplit final : public PreTokenizerStep {
 public:
  using Kind = bool (*)(char32_t);
  CharacterSplit(Kind kind, SplitBehavior behavior) : kind_(kind), behavior_(behavior) {}

  void apply(Pieces& pieces) const override {
    split_pieces(pieces, behavior_, false, [&](std::string_view text, auto&& found) {
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        if (kind_(next_character(text, at))) found(begin, at);
      }
    });
  }

 private:
  Kind kind_;
  SplitBehavior behavior_;
};

// Rewrites each piece: `rewrite(piece, span, out)` appends what stands in its place.
template <class Rewrite>
void rewrite_pieces(Pieces& pieces, Rewrite&& rewrite) {
  std::string out;
  out.reserve(pieces.text.size() + pieces.text.size() / 2);
  for (Pieces::Span& span : pieces.spans) {
    const std::size_t begin = out.size();
    rewrite(pieces.view(span), span, out);
    span.begin = begin;
    span.end = out.size();
  }
  pieces.text = std::move(out);
}

class ByteLevel final : public PreTokenizerStep {
 public:
  explicit ByteLevel(const JsonFields& fields) : add_prefix_space_(fields.flag("add_prefix_space", true)) {
    fields.flag("trim_offsets", true);  // about offsets only
    if (fields.flag("use_regex", true)) {
      words_ =
          std::make_unique<Split>(Pattern::from_json({{"Regex", kGpt2Pattern}}, fields.path()), SplitBehavior::isolated, false);
    }
  }

  void apply(Pieces& pieces) const override {
    if (add_prefix_space_) {
      rewrite_pieces(pieces, [](std::string_view piece, const Pieces::Span&, std::string& out) {
        if (!piece.starts_with(' ')) out += ' ';
        out += piece;
      });
    }
    if (words_) words_->apply(pieces);
    rewrite_pieces(pieces,
                   [](std::string_view piece, const Pieces::Span&, std::string& out) { append_as_byte_characters(out, piece); });
  }

 private:
  bool add_prefix_space_;
  std::unique_ptr<Split> words_;
};

class Metaspace final : public PreTokenizerStep {
 public:
  explicit Metaspace(const JsonFields& fields) : scheme_(MetaspaceScheme::from_json(fields)), split_(fields.flag("split", true)) {}

  void apply(Pieces& pieces) const override {
    const std::string& mark = scheme_.replacement;
    rewrite_pieces(pieces, [&](std::string_view piece, const Pieces::Span& span, std::string& out) {
      const bool prepends = scheme_.prepend == MetaspaceScheme::Prepend::always ||
                            (scheme_.prepend == MetaspaceScheme::Prepend::first && span.opens_text);
      if (prepends && !piece.starts_with(' ') && !piece.starts_with(mark)) out += mark;
      for (const char byte : piece) byte == ' ' ? out += mark : out += byte;
    });
    if (!split_) return;
    split_pieces(pieces, SplitBehavior::merged_with_next, false, [&](std::string_view text, auto&& found) {
      for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + mark.size())) {
        found(at, at + mark.size());
      }
    });
  }

 private:
  MetaspaceScheme scheme_;
  bool split_;
};

std::unique_ptr<const PreTokenizerStep> make_step(const Json& json, const std::string& type, const std::string& path) {
  if (type == "Split") {
    const JsonFields fields(json, path, {"pattern", "behavior", "invert"});
    fields.need("behavior");
    return std::make_unique<Split>(Pattern::from_json(fields.need("pattern"), fields.path_of("pattern")),
                                   split_behavior(fields, SplitBehavior::isolated), fields.flag("invert", false));
  }
  if (type == "ByteLevel")
    return std::make_unique<ByteLevel>(JsonFields(json, path, {"add_prefix_space", "trim_offsets", "use_regex"}));
  if (type == "Metaspace") {
    return std::make_unique<Metaspace>(
        JsonFields(json, path, {"replacement", "str_rep", "prepend_scheme", "add_prefix_space", "split"}));
  }
  if (type == "Digits") {
    const bool each = JsonFields(json, path, {"individual_digits"}).flag("individual_digits", false);
    return std::make_unique<CharacterSplit>(is_numeric, each ? SplitBehavior::isolated : SplitBehavior::contiguous);
  }
  if (type == "Whitespace") {
    JsonFields(json, path, {});
    return std::make_unique<Split>(Pattern::from_json({{"Regex", kWordsPattern}}, path), SplitBehavior::removed, true);
  }
  if (type == "WhitespaceSplit") {
    JsonFields(json, path, {});
    return std::make_unique<CharacterSplit>(is_whitespace, SplitBehavior::removed);
  }
  if (type == "Punctuation") {
    const JsonFields fields(json, path, {"behavior"});
    return std::make_unique<CharacterSplit>(is_punctuation, split_behavior(fields, SplitBehavior::isolated));
  }
  if (type == "CharDelimiterSplit") {
    const Json literal{{"String", JsonFields(json, path, {"delimiter"}).text("delimiter")}};
    return std::make_unique<Split>(Pattern::from_json(literal, path), SplitBehavior::removed, false);
  }
  throw Error(Errc::unsupported, fmt::format("{}: unknown pre-tokenizer '{}'", path, type));
}

}  // namespace

PreTokenizer PreTokenizer::from_json(const Json* json, const std::string& path) {
  PreTokenizer made;
  if (json == nullptr) return made;
  for_each_component(*json, path, "pretokenizers", [&](const Json& part, const std::string& type, const std::string& where) {
    made.steps_.push_back(make_step(part, type, where));
  });
  return made;
}

Pieces PreTokenizer::apply(std::string text, bool opens_text) const {
  Pieces pieces{std::move(text), {}};
  if (pieces.text.empty()) return pieces;
  pieces.spans.push_back({0, pieces.text.size(), opens_text});
  for (const auto& step : steps_) {
    step->apply(pieces);
    check_text_size(pieces.text.size());
  }
  return pieces;
}

}  // namespace conclave
