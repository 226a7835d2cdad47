#include "text/jinja/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/compare.h"
#include "text/jinja/show.h"
#include "text/utf8.h"

namespace conclave::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Runtime& rt, const JsonStyle& style) : rt_(rt), style_(style), out_(rt) {}

  void write(const Value& value) {
    const Level level(rt_);
    switch (value.kind()) {
      case Kind::none:
      case Kind::boolean:
      case Kind::integer:
      case Kind::real: return out_.put(scalar(value));
      case Kind::text: return write_text(value.text().utf8);
      case Kind::sequence:
        if (!value.sequence().is_view()) return write_sequence(value.sequence());
        break;
      case Kind::mapping: return write_mapping(value.mapping());
      default: break;
    }
    rt_.fail(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
  }
  Value value() { return out_.value(); }

 private:
  static std::string scalar(const Value& value) {
    switch (value.kind()) {
      case Kind::none: return "null";
      case Kind::boolean: return value.boolean() ? "true" : "false";
      case Kind::integer: return whole_text(value.integer());
      default: break;
    }
    const double real = value.real();
    if (std::isnan(real)) return "NaN";
    return std::isinf(real) ? (real < 0 ? "-Infinity" : "Infinity") : real_text(real);
  }

  void write_text(std::string_view text) {
    out_.put('"');
    std::size_t plain = 0;  // where the run of characters that stay as they are began
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const char32_t c = next_character(text, at);
      if (c != '"' && c != '\\' && c >= 0x20 && (!style_.ensure_ascii || c < 0x80)) continue;
      out_.put(text.substr(plain, begin - plain));
      write_escaped(c);
      plain = at;
    }
    out_.put(text.substr(plain));
    out_.put('"');
  }

  void write_escaped(char32_t c) {
    switch (c) {
      case '"': return out_.put("\\\"");
      case '\\': return out_.put("\\\\");
      case '\n': return out_.put("\\n");
      case '\r': return out_.put("\\r");
      case '\t': return out_.put("\\t");
      case '\f': return out_.put("\\f");
      case '\b': return out_.put("\\b");
      default: break;
    }
    const auto number = static_cast<std::uint32_t>(c);
    if (number < 0x10000) return out_.put(fmt::format("\\u{:04x}", number));
    out_.put(fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((number - 0x10000) >> 10), 0xDC00 + ((number - 0x10000) & 0x3FF)));
  }

  void new_line() {
    if (!style_.indent) return;
    out_.put('\n');
    out_.fill(nesting_, *style_.indent);
  }

  template <class Container, class WriteOne>
  void write_container(char open, char close, const Container& items, const WriteOne& write_one) {
    out_.put(open);
    ++nesting_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_.put(style_.item_separator);
      first = false;
      new_line();
      write_one(item);
    }
    --nesting_;
    if (!items.empty()) new_line();
    out_.put(close);
  }

  void write_sequence(const Sequence& sequence) {
    write_container('[', ']', sequence.items, [&](const Value& item) { write(item); });
  }

  void write_key(const Value& key) {
    if (key.is(Kind::text)) return write_text(key.text().utf8);
    if (!key.is(Kind::none) && !key.is_number()) {
      rt_.fail(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
    out_.put('"');
    out_.put(scalar(key));
    out_.put('"');
  }

  void write_mapping(const Mapping& mapping) {
    std::vector<const Entry*> entries;
    for (const Entry& entry : mapping.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      rt_.step(entries.size() * 4);
      std::stable_sort(entries.begin(), entries.end(),
                       [&](const Entry* a, const Entry* b) { return less(rt_, a->first, b->first); });
    }
    write_container('{', '}', entries, [&](const Entry* entry) {
      write_key(entry->first);
      out_.put(style_.key_separator);
      write(entry->second);
    });
  }

  Runtime& rt_;
  const JsonStyle& style_;
  Writer out_;
  std::size_t nesting_ = 0;
};

}  // namespace

Value json_text(Runtime& rt, const Value& value, const JsonStyle& style) {
  JsonWriter writer(rt, style);
  writer.write(value);
  return writer.value();
}

}  // namespace conclave::jinja
