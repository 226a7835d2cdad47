#include "text/onig_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "text/utf8.h"

namespace conclave {
namespace {

constexpr int kDeepestClass = 16;

using NamePair = std::pair<std::string_view, std::string_view>;

constexpr std::string_view kSpaceMembers = "\\x{09}-\\x{0D}\\x{85}\\p{Z}";  // the property White_Space
constexpr std::string_view kWordMembers = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";

// POSIX brackets, and \p{...} by the same names: Oniguruma's Unicode meaning of each.
constexpr std::array<NamePair, 11> kPosixMembers{{{"alnum", "\\p{Alphabetic}\\p{Nd}"},
                                                  {"alpha", "\\p{Alphabetic}"},
                                                  {"blank", "\\x{09}\\p{Zs}"},
                                                  {"cntrl", "\\p{Cc}"},
                                                  {"digit", "\\p{Nd}"},
                                                  {"lower", "\\p{Lowercase}"},
                                                  {"punct", "\\p{P}\\p{S}"},
                                                  {"space", kSpaceMembers},
                                                  {"upper", "\\p{Uppercase}"},
                                                  {"word", kWordMembers},
                                                  {"xdigit", "0-9A-Fa-f"}}};

// General categories by their long names; PCRE2 knows the short ones only.
constexpr std::array<NamePair, 37> kLongCategories{{{"other", "C"},
                                                    {"control", "Cc"},
                                                    {"format", "Cf"},
                                                    {"unassigned", "Cn"},
                                                    {"privateuse", "Co"},
                                                    {"surrogate", "Cs"},
                                                    {"letter", "L"},
                                                    {"lowercaseletter", "Ll"},
                                                    {"modifierletter", "Lm"},
                                                    {"otherletter", "Lo"},
                                                    {"titlecaseletter", "Lt"},
                                                    {"uppercaseletter", "Lu"},
                                                    {"mark", "M"},
                                                    {"spacingmark", "Mc"},
                                                    {"enclosingmark", "Me"},
                                                    {"nonspacingmark", "Mn"},
                                                    {"number", "N"},
                                                    {"decimalnumber", "Nd"},
                                                    {"letternumber", "Nl"},
                                                    {"othernumber", "No"},
                                                    {"punctuation", "P"},
                                                    {"connectorpunctuation", "Pc"},
                                                    {"dashpunctuation", "Pd"},
                                                    {"closepunctuation", "Pe"},
                                                    {"finalpunctuation", "Pf"},
                                                    {"initialpunctuation", "Pi"},
                                                    {"otherpunctuation", "Po"},
                                                    {"openpunctuation", "Ps"},
                                                    {"symbol", "S"},
                                                    {"currencysymbol", "Sc"},
                                                    {"modifiersymbol", "Sk"},
                                                    {"mathsymbol", "Sm"},
                                                    {"othersymbol", "So"},
                                                    {"separator", "Z"},
                                                    {"lineseparator", "Zl"},
                                                    {"paragraphseparator", "Zp"},
                                                    {"spaceseparator", "Zs"}}};

// Names that are neither categories nor scripts and mean the same to both libraries.
constexpr std::array<std::string_view, 15> kSharedProperties{
    "any",           "alphabetic",           "uppercase", "lowercase",  "whitespace", "emoji",       "emojipresentation",
    "emojimodifier", "extendedpictographic", "idstart",   "idcontinue", "xidstart",   "xidcontinue", "ideographic",
    "math"};

constexpr std::string_view kCategories =
    " C Cc Cf Cn Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs ";

template <std::size_t N>
std::optional<std::string_view> look_up(const std::array<NamePair, N>& pairs, std::string_view name) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const NamePair& pair) { return pair.first == name; });
  if (found == pairs.end()) return std::nullopt;
  return found->second;
}

// Property names are compared without case, spaces, hyphens and underscores.
std::string loose(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

CharacterSet property_set(std::string_view written, PatternReader& in, bool alone) {
  const bool negated = written.starts_with('^');
  const std::string name = loose(written.substr(negated ? 1 : 0));
  if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    throw in.unsupported(fmt::format("\\p{{{}}}", written));
  }
  CharacterSet set;
  set.negated = negated;
  std::string category = name;
  category[0] = static_cast<char>(category[0] - 32);
  if (kCategories.find(fmt::format(" {} ", category)) != std::string_view::npos) {
    set.members = fmt::format("\\p{{{}}}", category);
  } else if (name == "punct") {
    set.members = "\\p{P}";  // [:punct:] has the symbols too
  } else if (name == "word" && alone) {
    set.members = kLoneWordMembers;
  } else if (const auto posix = look_up(kPosixMembers, name)) {
    set.members = *posix;
  } else if (const auto longer = look_up(kLongCategories, name)) {
    set.members = fmt::format("\\p{{{}}}", *longer);
  } else if (name == "assigned") {
    set.members = "\\P{Cn}";
  } else if (std::find(kSharedProperties.begin(), kSharedProperties.end(), name) != kSharedProperties.end()) {
    set.members = fmt::format("\\p{{{}}}", name);
  } else {
    set.members = fmt::format("\\p{{sc:{}}}", name);  // a script, or PCRE2 will say that it knows no such name
  }
  return set;
}

// Adds `other` to `set`, inside of one class where that can be said.
void unite(CharacterSet& set, const CharacterSet& other) {
  if (other.negated || !other.classes.empty()) {
    set.classes.push_back(other.render());
  } else {
    set.members += other.members;
  }
}

// [a&&b&&c]: each set but the last is looked at ahead of the one that takes the character.
std::string render_intersection(const std::vector<CharacterSet>& sets, bool negated, const PatternReader& in) {
  const auto empty = [](const CharacterSet& set) { return set.members.empty() && set.classes.empty(); };
  if (std::any_of(sets.begin(), sets.end(), empty)) throw in.corrupt("a set of characters is empty");
  if (sets.size() == 1) {
    CharacterSet set = sets[0];
    set.negated = negated;
    return set.render();
  }
  std::string all;
  for (std::size_t i = 0; i + 1 < sets.size(); ++i) all += fmt::format("(?={})", sets[i].render());
  all += sets.back().render();
  return negated ? fmt::format("(?:(?!{})(?s:.))", all) : fmt::format("(?:{})", all);
}

class ClassTranslator {
 public:
  explicit ClassTranslator(PatternReader& in) : in_(in) {}

  std::string translate(int depth) {
    if (depth > kDeepestClass) throw in_.unsupported("character classes nested this deep");
    in_.take();
    const bool negated = in_.take_if("^");
    std::vector<CharacterSet> sets(1);
    if (in_.peek_or_end() == ']') character_or_range(sets.back());  // []...]: a bracket that comes first is a member
    while (true) {
      if (in_.done()) throw in_.corrupt("a '[' is not closed");
      if (in_.take_if("]")) break;
      if (in_.take_if("&&")) {
        sets.emplace_back();
      } else {
        item(sets.back(), depth);
      }
    }
    return render_intersection(sets, negated, in_);
  }

 private:
  void item(CharacterSet& set, int depth) {
    if (in_.starts_with("[:")) {
      posix(set);
    } else if (in_.peek() == '[') {
      const std::string inner = translate(depth + 1);
      set.classes.push_back(inner);
    } else if (in_.starts_with("\\") && set_escape(set)) {
    } else {
      character_or_range(set);
    }
  }

  void posix(CharacterSet& set) {
    in_.take_if("[:");
    const std::string_view name = in_.take_until(":]");
    const auto members = look_up(kPosixMembers, name);
    if (!members) throw in_.unsupported(fmt::format("[:{}:]", name));
    set.members += *members;
  }

  bool set_escape(CharacterSet& set) {
    PatternReader ahead = in_;
    ahead.take();
    if (ahead.done()) throw in_.corrupt("it ends in a backslash");
    const auto escaped = translate_set_escape(ahead, false);
    if (!escaped) return false;
    in_ = ahead;
    unite(set, *escaped);
    return true;
  }

  void character_or_range(CharacterSet& set) {
    const char32_t first = character();
    set.members += class_literal(first);
    if (!in_.starts_with("-") || in_.starts_with("-]") || in_.starts_with("-&&")) return;
    in_.take();
    if (in_.done()) throw in_.corrupt("a '[' is not closed");
    PatternReader ahead = in_;
    if (in_.peek() == '[' || (ahead.take_if("\\") && !ahead.done() && translate_set_escape(ahead, false))) {
      throw in_.unsupported("a range that ends in a set");
    }
    const char32_t last = character();
    if (last < first) throw in_.corrupt("a range runs backwards");
    set.members += '-';
    set.members += class_literal(last);
  }

  char32_t character() {
    if (!in_.take_if("\\")) return in_.take_character();
    if (in_.done()) throw in_.corrupt("it ends in a backslash");
    if (in_.take_if("b")) return U'\b';
    return in_.take_escaped_character();
  }

  PatternReader& in_;
};

}  // namespace

bool PatternReader::take_if(std::string_view text) {
  if (!starts_with(text)) return false;
  at_ += text.size();
  return true;
}

std::string_view PatternReader::take_until(std::string_view end) {
  const std::size_t stop = pattern_.find(end, at_);
  if (stop == std::string_view::npos) throw corrupt(fmt::format("'{}' is missing", end));
  const std::string_view taken = pattern_.substr(at_, stop - at_);
  at_ = stop + end.size();
  return taken;
}

char32_t PatternReader::take_character() { return next_character(pattern_, at_); }

char32_t PatternReader::take_hex(std::size_t most_digits) {
  unsigned value = 0;
  const char* begin = pattern_.data() + at_;
  const auto [end, fault] = std::from_chars(begin, begin + std::min(most_digits, pattern_.size() - at_), value, 16);
  if (fault != std::errc{} || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
    throw corrupt("an escape names no character");
  }
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

char32_t PatternReader::take_escaped_character() {
  const char32_t c = take_character();
  switch (c) {
    case U'n': return U'\n';
    case U't': return U'\t';
    case U'r': return U'\r';
    case U'f': return U'\f';
    case U'v': return U'\v';
    case U'a': return U'\a';
    case U'e': return U'\x1B';
    case U'u': return take_hex(4);
    case U'x': {
      if (take_if("{")) {
        const char32_t character = take_hex(8);
        if (!take_if("}")) throw corrupt("a '\\x{' is not closed");
        return character;
      }
      const char32_t byte = take_hex(2);
      if (byte >= 0x80) throw unsupported("\\xHH above 7F (a byte, not a character)");
      return byte;
    }
    default: break;
  }
  const bool alphanumeric = c < 0x80 && ((c >= U'0' && c <= U'9') || ((c | 0x20) >= U'a' && (c | 0x20) <= U'z'));
  if (alphanumeric) throw unsupported(fmt::format("\\{}", static_cast<char>(c)));
  return c;
}

std::optional<PatternReader::Interval> PatternReader::take_interval() {
  const std::size_t start = at_;
  Interval interval;
  const auto number = [&]() -> std::optional<int> {
    int value = 0;
    const char* begin = pattern_.data() + at_;
    const auto [end, fault] = std::from_chars(begin, pattern_.data() + pattern_.size(), value);
    if (fault != std::errc{} || *begin == '-') return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  };
  take();
  const auto least = number();
  const bool comma = take_if(",");
  const auto most = comma ? number() : least;
  if (!take_if("}") || (!least && !most)) {
    at_ = start;
    return std::nullopt;
  }
  interval.least = least.value_or(0);
  interval.most = most;
  interval.exact = !comma;
  return interval;
}

Error PatternReader::corrupt(std::string_view words) const {
  return {Errc::corrupt, fmt::format("{}: the regular expression '{}' is broken near byte {}: {}", path_, pattern_, at_, words)};
}

Error PatternReader::unsupported(std::string_view what) const {
  return {Errc::unsupported,
          fmt::format("{}: the regular expression '{}' uses {} near byte {}, which is not supported", path_, pattern_, what, at_)};
}

std::string CharacterSet::render() const {
  if (classes.empty()) return fmt::format("[{}{}]", negated ? "^" : "", members);
  std::string any;
  if (!members.empty()) any = fmt::format("[{}]|", members);
  any += fmt::format("{}", fmt::join(classes, "|"));
  return negated ? fmt::format("(?:(?!{})(?s:.))", any) : fmt::format("(?:{})", any);
}

std::optional<CharacterSet> translate_set_escape(PatternReader& in, bool alone) {
  CharacterSet set;
  switch (in.peek()) {
    case 's':
    case 'S': set.members = kSpaceMembers; break;
    case 'w':
    case 'W': set.members = alone ? kLoneWordMembers : kWordMembers; break;
    case 'd':
    case 'D': set.members = "\\p{Nd}"; break;
    case 'h':
    case 'H': set.members = "0-9A-Fa-f"; break;
    case 'p':
    case 'P': {
      const bool complement = in.take() == 'P';
      if (!in.take_if("{")) throw in.unsupported("\\p without braces");
      set = property_set(in.take_until("}"), in, alone);
      set.negated = set.negated != complement;
      return set;
    }
    default: return std::nullopt;
  }
  const char c = in.take();
  set.negated = c >= 'A' && c <= 'Z';
  return set;
}

std::string translate_class(PatternReader& in) { return ClassTranslator(in).translate(0); }

std::string class_literal(char32_t character) {
  const bool plain = (character >= U'0' && character <= U'9') || ((character | 0x20) >= U'a' && (character | 0x20) <= U'z');
  if (plain && character < 0x80) return std::string(1, static_cast<char>(character));
  return fmt::format("\\x{{{:02X}}}", static_cast<std::uint32_t>(character));
}

}  // namespace conclave
