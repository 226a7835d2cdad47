#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/access.h"
#include "text/jinja/format.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"
#include "text/jinja/unicode.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

constexpr int kMostPrecision = 1000;  // a double has no more than 767 digits that mean something

struct Directive {
  bool left = false, zero = false, plus = false, space = false, alternate = false;
  std::size_t width = 0;
  int precision = -1;
  char type = 0;
};

class PercentFormatter {
 public:
  PercentFormatter(Runtime& rt, const Value& format, const Value& argument)
      : rt_(rt), format_(format), argument_(argument), rest_(format.text().utf8), out_(rt) {}

  Value run() {
    while (!rest_.empty()) {
      const std::size_t percent = std::min(rest_.find('%'), rest_.size());
      out_.put(rest_.substr(0, percent));
      rest_.remove_prefix(percent);
      if (rest_.empty()) break;
      rest_.remove_prefix(1);
      directive();
    }
    if (is_tuple() && used_ < argument_.sequence().items.size()) not_all_used();
    const bool has_items = argument_.is(Kind::mapping) || argument_.is(Kind::sequence) || argument_.is(Kind::missing);
    if (!has_items && used_ == 0) not_all_used();
    return out_.value(format_.text().markup);
  }

 private:
  bool is_tuple() const { return argument_.is(Kind::sequence) && argument_.sequence().is_tuple(); }
  [[noreturn]] void not_all_used() const { rt_.fail("not all arguments converted during string formatting"); }

  char take() {
    if (rest_.empty()) rt_.fail("incomplete format");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  Value next_argument() {
    if (is_tuple() ? used_ >= argument_.sequence().items.size() : used_ > 0) rt_.fail("not enough arguments for format string");
    return is_tuple() ? argument_.sequence().items[used_++] : (++used_, argument_);
  }

  Int take_number() {
    if (!rest_.empty() && rest_.front() == '*') {
      rest_.remove_prefix(1);
      const Value given = next_argument();
      if (!given.is_whole()) rt_.fail("* wants int");
      return given.whole();
    }
    Int number = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9')
      number = std::min<Int>(number * 10 + (take() - '0'), 1 << 30);
    return number;
  }

  std::optional<Value> keyed() {
    if (rest_.empty() || rest_.front() != '(') return std::nullopt;
    const std::size_t end = rest_.find(')');
    if (end == std::string_view::npos) rt_.fail("incomplete format key");
    if (!argument_.is(Kind::mapping)) rt_.fail("format requires a mapping");
    const std::string_view key = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    const Value* found = argument_.mapping().find(key);
    if (found == nullptr) rt_.fail("KeyError: " + quoted(key));
    return *found;
  }

  Directive parse_flags() {
    Directive d;
    for (;; rest_.remove_prefix(1)) {
      switch (rest_.empty() ? 0 : rest_.front()) {
        case '-': d.left = true; continue;
        case '0': d.zero = true; continue;
        case '+': d.plus = true; continue;
        case ' ': d.space = true; continue;
        case '#': d.alternate = true; continue;
        default: break;
      }
      return d;
    }
  }

  void directive() {
    std::optional<Value> value = keyed();
    Directive d = parse_flags();
    const Int width = take_number();
    d.left = d.left || width < 0;
    d.width = static_cast<std::size_t>(std::min<Int>(width < 0 ? -width : width, 1 << 30));
    if (!rest_.empty() && rest_.front() == '.') {
      rest_.remove_prefix(1);
      d.precision = static_cast<int>(std::clamp<Int>(take_number(), 0, 1 << 30));
    }
    while (!rest_.empty() && (rest_.front() == 'l' || rest_.front() == 'h' || rest_.front() == 'L')) rest_.remove_prefix(1);
    d.type = take();
    if (d.type == '%') return out_.put('%');
    if (!value) value = next_argument();
    convert(d, *value);
  }

  void convert(const Directive& d, const Value& value) {
    switch (d.type) {
      case 's':
      case 'r':
      case 'a': return convert_text(d, value);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': return convert_whole(d, value);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': return convert_real(d, value);
      case 'c': return convert_character(d, value);
      default: rt_.fail(fmt::format("unsupported format character '{}'", d.type));
    }
  }

  void convert_text(const Directive& d, const Value& value) {
    Writer shown(rt_);
    d.type == 's' ? write_text(shown, rt_, value) : write_repr(shown, rt_, value);
    const bool markup = d.type == 's' && value.is(Kind::text) && value.text().markup;
    Value text = shown.value(markup);
    if (format_.text().markup) text = escape(rt_, text);
    const std::size_t characters = d.precision < 0 ? text.text().length : static_cast<std::size_t>(d.precision);
    pad(d, "", std::string_view(text.text().utf8).substr(0, byte_of(text.text(), characters)), false);
  }

  std::string_view sign(const Directive& d, bool negative) { return negative ? "-" : d.plus ? "+" : d.space ? " " : ""; }

  void convert_whole(const Directive& d, const Value& value) {
    if (!value.is_number() || (d.type != 'd' && d.type != 'i' && d.type != 'u' && !value.is_whole())) {
      rt_.fail(fmt::format("%{} format: a number is required, not {}", d.type, type_name(value)));
    }
    if (!value.is_whole() && !(std::abs(value.real()) < 0x1p126)) rt_.fail("cannot convert float to integer");
    const Int whole = value.is_whole() ? value.whole() : static_cast<Int>(value.real());
    limit_precision(d);
    pad(d, sign(d, whole < 0), format_whole(whole < 0 ? negate(rt_, whole).integer() : whole, {d.type, d.precision, d.alternate}),
        true);
  }

  void convert_real(const Directive& d, const Value& value) {
    if (!value.is_number()) rt_.fail("must be real number, not " + type_name(value));
    const double real = value.number();
    limit_precision(d);
    pad(d, sign(d, std::signbit(real)), format_real(std::abs(real), {d.type, d.precision, d.alternate}), true);
  }

  void convert_character(const Directive& d, const Value& value) {
    std::string character;
    if (value.is_whole() && value.whole() >= 0 && value.whole() < 0x110000 && (value.whole() < 0xD800 || value.whole() > 0xDFFF)) {
      append_character(character, static_cast<char32_t>(value.whole()));
    } else if (value.is(Kind::text) && value.text().length == 1) {
      character = value.text().utf8;
    } else {
      rt_.fail("%c requires int or char");
    }
    pad(d, "", character, false);
  }

  void limit_precision(const Directive& d) const {
    if (d.precision > kMostPrecision) rt_.fail(fmt::format("a precision of {} digits is beyond {}", d.precision, kMostPrecision));
  }

  void pad(const Directive& d, std::string_view sign, std::string_view body, bool number) {
    const std::size_t length = sign.size() + count_characters(body);
    const std::size_t missing = d.width > length ? d.width - length : 0;
    const bool zeros = d.zero && number && !d.left;
    if (!d.left && !zeros) out_.fill(missing, " ");
    out_.put(sign);
    if (zeros) out_.fill(missing, "0");
    out_.put(body);
    if (d.left) out_.fill(missing, " ");
  }

  Runtime& rt_;
  const Value& format_;
  const Value& argument_;
  std::string_view rest_;
  Writer out_;
  std::size_t used_ = 0;
};

}  // namespace

Value percent_format(Runtime& rt, const Value& format, const Value& argument) {
  return PercentFormatter(rt, format, argument).run();
}

}  // namespace conclave::jinja
