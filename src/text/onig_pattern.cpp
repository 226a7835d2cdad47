#include "text/onig_pattern.h"

#include <fmt/format.h>

#include <vector>

#include "conclave/error.h"
#include "text/onig_class.h"

namespace conclave {
namespace {

constexpr std::size_t kMostBytes = 16384;  // of a pattern; the longest in use has about 500

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& path) : in_(pattern, path) {}

  std::string run() {
    while (!in_.done()) step();
    if (!groups_.empty()) throw in_.corrupt("a '(' is not closed");
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kNoAtom = std::string::npos;

  void step() {
    switch (in_.peek()) {
      case '\\': return escape();
      case '[':
        begin_atom();
        out_ += translate_class(in_);
        return;
      case '(': return open_group();
      case ')': return close_group();
      case '*':
      case '+':
      case '?': return repeat();
      case '{': return interval();
      case '.':
        begin_atom();
        out_ += in_.take();
        return;
      case '|':
      case '^':
      case '$':
        atom_ = kNoAtom;
        out_ += in_.take();
        return;
      default: break;
    }
    begin_atom();
    out_ += class_literal(in_.take_character());
  }

  void begin_atom() { atom_ = out_.size(); }

  void escape() {
    begin_atom();
    in_.take();
    if (in_.done()) throw in_.corrupt("it ends in a backslash");
    const char c = in_.peek();
    if (std::string_view("AzZGKRX").find(c) != std::string_view::npos) {
      out_ += '\\';
      out_ += in_.take();
    } else if (c == 'b' || c == 'B') {
      in_.take();
      const std::string_view form =
          c == 'b' ? "(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))" : "(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))";
      out_ += fmt::format(fmt::runtime(form), kLoneWordMembers);
    } else if (const auto set = translate_set_escape(in_, true)) {
      out_ += set->render();
    } else {
      out_ += class_literal(in_.take_escaped_character());
    }
  }

  void open_group() {
    groups_.push_back(out_.size());
    const bool at_branch = out_.empty() || out_.back() == '|' || out_.back() == ':' || out_.back() == '(';
    in_.take();
    if (in_.peek_or_end() == '*') throw in_.unsupported("(*");
    if (!in_.take_if("?")) {
      out_ += "(?:";
      return;
    }
    for (const std::string_view plain : {":", "=", "!", ">", "<=", "<!"}) {
      if (!in_.take_if(plain)) continue;
      out_ += fmt::format("(?{}", plain);
      atom_ = kNoAtom;
      return;
    }
    if (in_.take_if("#")) return skip_comment();
    if (in_.take_if("<")) return named_group();
    options(at_branch);
  }

  void skip_comment() {
    groups_.pop_back();
    while (!in_.done() && in_.peek() != ')') in_.take();
    if (!in_.take_if(")")) throw in_.corrupt("a comment is not closed");
  }

  void named_group() {
    while (!in_.done() && in_.peek() != '>') in_.take();
    if (!in_.take_if(">")) throw in_.corrupt("a group name is not closed");
    out_ += "(?:";
  }

  // (?i) (?-i) (?i:...) and the same with m, Oniguruma's word for PCRE2's s.
  void options(bool at_branch) {
    std::string letters;
    while (!in_.done() && in_.peek() != ':' && in_.peek() != ')') {
      const char c = in_.take();
      if (c != 'i' && c != 'm' && c != '-') throw in_.unsupported(fmt::format("(?{}{}", letters, c));
      letters += c == 'm' ? 's' : c;
    }
    if (in_.done()) throw in_.corrupt("a '(?' is not closed");
    // Elsewhere the option would reach over later alternatives in Oniguruma and not in PCRE2.
    if (in_.peek() == ')' && !at_branch) throw in_.unsupported(fmt::format("(?{}) in the middle of an alternative", letters));
    out_ += fmt::format("(?{}{}", letters, in_.peek());
    if (in_.take() == ')') groups_.pop_back();
    atom_ = kNoAtom;
  }

  void close_group() {
    if (groups_.empty()) throw in_.corrupt("a ')' has no '('");
    out_ += in_.take();
    atom_ = groups_.back();
    groups_.pop_back();
  }

  void repeat() {
    out_ += in_.take();
    if (!in_.done() && (in_.peek() == '?' || in_.peek() == '+')) out_ += in_.take();
  }

  void interval() {
    const auto bounds = in_.take_interval();
    if (!bounds) {  // a brace that is no interval is a brace
      begin_atom();
      in_.take();
      out_ += "\\{";
      return;
    }
    if (atom_ == kNoAtom) throw in_.corrupt("a repeat has nothing to repeat");
    out_ += bounds->most ? fmt::format("{{{},{}}}", bounds->least, *bounds->most) : fmt::format("{{{},}}", bounds->least);
    const char next = in_.peek_or_end();
    if (next == '?' && !bounds->exact) out_ += in_.take();
    // A sign that would belong to the interval in PCRE2 repeats the whole in Oniguruma.
    if (next == '+' || (next == '?' && bounds->exact)) {
      out_.insert(atom_, "(?:");
      out_ += ')';
    }
  }

  PatternReader in_;
  std::string out_;
  std::size_t atom_ = kNoAtom;       // where, in out_, what a repeat would repeat begins
  std::vector<std::size_t> groups_;  // where the open groups begin in out_
};

}  // namespace

std::string onig_to_pcre2(std::string_view pattern, const std::string& path) {
  if (pattern.size() > kMostBytes) {
    throw Error(Errc::unsupported,
                fmt::format("{}: the pattern has {} bytes, at most {} are taken", path, pattern.size(), kMostBytes));
  }
  return Translator(pattern, path).run();
}

}  // namespace conclave
