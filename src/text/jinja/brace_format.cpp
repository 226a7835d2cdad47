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

constexpr int kMostPrecision = 1000;

struct Spec {  // [[fill]align][sign][#][0][width][,_][.precision][type]
  std::string fill = " ";
  char align = 0;  // < > ^ =
  char sign = '-';
  bool alternate = false;
  char grouping = 0;
  std::size_t width = 0;
  int precision = -1;
  char type = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A run of digits taken off the front; large numbers stop at 2^30, more than any bound allows.
std::optional<int> take_digits(std::string_view& text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  std::int64_t number = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1))
    number = std::min<std::int64_t>(number * 10 + (text.front() - '0'), 1 << 30);
  return static_cast<int>(number);
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

Spec parse_spec(Runtime& rt, std::string_view text) {
  Spec spec;
  const std::size_t first = text.empty() ? 0 : utf8_length(text.front());
  if (text.size() > first && is_align(text[first])) {
    spec.fill = text.substr(0, first), spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && is_align(text.front())) {
    spec.align = text.front();
    text.remove_prefix(1);
  }
  if (!text.empty() && (text.front() == '+' || text.front() == '-' || text.front() == ' '))
    spec.sign = text.front(), text.remove_prefix(1);
  spec.alternate = take(text, '#');
  if (take(text, '0') && spec.align == 0) spec.fill = "0", spec.align = '=';
  spec.width = static_cast<std::size_t>(take_digits(text).value_or(0));
  if (!text.empty() && (text.front() == ',' || text.front() == '_')) spec.grouping = text.front(), text.remove_prefix(1);
  if (take(text, '.')) {
    const auto precision = take_digits(text);
    if (!precision) rt.fail("Format specifier missing precision");
    spec.precision = *precision;
  }
  if (!text.empty()) spec.type = text.front(), text.remove_prefix(1);
  if (!text.empty()) rt.fail("Invalid format specifier");
  return spec;
}

class BraceFormatter {
 public:
  BraceFormatter(Runtime& rt, const Args& args, bool markup) : rt_(rt), args_(args), markup_(markup) {}

  void write(Writer& out, std::string_view format, int nesting) {
    while (!format.empty()) {
      const std::size_t brace = std::min(format.find_first_of("{}"), format.size());
      out.put(format.substr(0, brace));
      format.remove_prefix(brace);
      if (format.empty()) return;
      const char kind = format.front();
      format.remove_prefix(1);
      if (take(format, kind)) {
        out.put(kind);
      } else if (kind == '}') {
        rt_.fail("Single '}' encountered in format string");
      } else {
        field(out, take_field(format), nesting);
      }
    }
  }

 private:
  // What stands up to the brace that closes this one; `format` goes on after it.
  std::string_view take_field(std::string_view& format) {
    int open = 1;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] == '{') ++open;
      if (format[i] != '}' || --open > 0) continue;
      const std::string_view inside = format.substr(0, i);
      format.remove_prefix(i + 1);
      return inside;
    }
    rt_.fail("expected '}' before end of string");
  }

  void field(Writer& out, std::string_view inside, int nesting) {
    if (nesting > 1) rt_.fail("Max string recursion exceeded");
    const std::size_t end = std::min(inside.find_first_of("!:"), inside.size());
    Value value = lookup(inside.substr(0, end));
    inside.remove_prefix(end);
    if (take(inside, '!')) {
      const char conversion = inside.empty() ? 0 : inside.front();
      if (conversion != 's' && conversion != 'r' && conversion != 'a') rt_.fail("Unknown conversion specifier");
      inside.remove_prefix(1);
      Writer shown(rt_);
      conversion == 's' ? write_text(shown, rt_, value) : write_repr(shown, rt_, value);
      value = shown.value();
    }
    if (!inside.empty() && !take(inside, ':')) rt_.fail("expected ':' after conversion specifier");
    Writer spec(rt_);
    write(spec, inside, nesting + 1);
    format_value(out, value, spec.text());
  }

  Value lookup(std::string_view name) {
    const std::size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, end));
    name.remove_prefix(end);
    while (!name.empty()) {
      const bool attribute = name.front() == '.';
      name.remove_prefix(1);
      const std::size_t stop = std::min(attribute ? name.find_first_of(".[") : name.find(']'), name.size());
      std::string_view key = name.substr(0, stop);
      name.remove_prefix(std::min(attribute ? stop : stop + 1, name.size()));
      const std::string_view whole_key = key;
      const auto index = take_digits(key);
      value = attribute              ? get_attribute(rt_, value, whole_key)
              : index && key.empty() ? get_item(rt_, value, Value(Int{*index}))
                                     : get_item(rt_, value, rt_.text(std::string(whole_key)));
    }
    return value;
  }

  Value argument(std::string_view name) {
    std::string_view rest = name;
    const auto number = take_digits(rest);
    if (!name.empty() && !(number && rest.empty())) {
      const Value* found = args_.find(name);
      if (found == nullptr) rt_.fail("KeyError: " + quoted(name));
      return *found;
    }
    const std::size_t index = number ? static_cast<std::size_t>(*number) : next_++;
    if (index >= args_.values.size()) rt_.fail("Replacement index out of range for positional args tuple");
    return args_.values[index];
  }

  void format_value(Writer& out, const Value& value, std::string_view text) {
    const Spec spec = parse_spec(rt_, text);
    if (value.is_number() && !(value.is(Kind::boolean) && text.empty())) return format_number(out, value, spec);
    if (!text.empty() && !value.is(Kind::text)) rt_.fail("unsupported format string passed to " + type_name(value) + ".__format__");
    if (spec.type != 0 && spec.type != 's') rt_.fail(fmt::format("Unknown format code '{}' for object of type 'str'", spec.type));
    if (spec.align == '=' && spec.fill != "0") rt_.fail("'=' alignment not allowed in string format specifier");
    Value shown = markup_ ? escape(rt_, value) : to_text(rt_, value);
    const std::size_t characters = spec.precision < 0 ? shown.text().length : static_cast<std::size_t>(spec.precision);
    pad(out, spec, "", std::string_view(shown.text().utf8).substr(0, byte_of(shown.text(), characters)), '<');
  }

  void format_number(Writer& out, const Value& value, const Spec& spec) {
    if (spec.precision > kMostPrecision)
      rt_.fail(fmt::format("a precision of {} digits is beyond {}", spec.precision, kMostPrecision));
    static constexpr std::string_view kReals = "eEfFgG%", kWholes = "dxXobn";
    const bool as_real = value.is(Kind::real) || (spec.type != 0 && kReals.find(spec.type) != std::string_view::npos);
    if (spec.type != 0 && (as_real ? kReals : kWholes).find(spec.type) == std::string_view::npos) {
      rt_.fail(fmt::format("Unknown format code '{}' for object of type '{}'", spec.type, type_name(value)));
    }
    const bool negative = as_real ? std::signbit(value.number()) : value.whole() < 0;
    std::string body;
    if (!as_real) {
      body = format_whole(negative ? negate(rt_, value).integer() : value.whole(),
                          {spec.type == 0 ? 'd' : spec.type, -1, spec.alternate, spec.grouping});
    } else if (spec.type == 0 && spec.precision < 0) {
      body = real_text(std::abs(value.number()));
    } else {
      body =
          format_real(std::abs(value.number()), {spec.type == 0 ? 'g' : spec.type, spec.precision, spec.alternate, spec.grouping});
    }
    pad(out, spec, negative ? "-" : spec.sign == '-' ? std::string_view() : spec.sign == '+' ? "+" : " ", body, '>');
  }

  void pad(Writer& out, const Spec& spec, std::string_view sign, std::string_view body, char usual_align) {
    const std::size_t length = sign.size() + count_characters(body);
    const std::size_t missing = spec.width > length ? spec.width - length : 0;
    const char align = spec.align == 0 || (spec.align == '=' && usual_align == '<') ? usual_align : spec.align;
    const std::size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
    out.fill(before, spec.fill);
    out.put(sign);
    if (align == '=') out.fill(missing, spec.fill);
    out.put(body);
    if (align != '=') out.fill(missing - before, spec.fill);
  }

  Runtime& rt_;
  const Args& args_;
  bool markup_;
  std::size_t next_ = 0;
};

}  // namespace

Value brace_format(Runtime& rt, const Value& format, const Args& args) {
  const bool markup = format.text().markup;
  Writer out(rt);
  BraceFormatter(rt, args, markup).write(out, format.text().utf8, 0);
  return out.value(markup);
}

}  // namespace conclave::jinja
