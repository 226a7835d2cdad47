#include "text/jinja/objects.h"

#include <fmt/format.h>

#include "text/jinja/show.h"

namespace conclave::jinja {

Next Generator::iterate(Runtime&, const Value& self) {
  return [this, self] { return next_(); };
}

std::string Namespace::repr(Runtime& rt) {
  if (being_shown_) return "<Namespace {...}>";
  struct Showing {
    explicit Showing(bool& flag) : flag_(flag) { flag_ = true; }
    ~Showing() { flag_ = false; }
    bool& flag_;
  } const showing(being_shown_);
  Writer out(rt);
  out.put("<Namespace {");
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i > 0) out.put(", ");
    out.put(quoted(members_[i].first));
    out.put(": ");
    write_repr(out, rt, members_[i].second);
  }
  out.put("}>");
  return out.text();
}

std::optional<Value> Namespace::attribute(Runtime&, const Value&, std::string_view name) {
  for (const auto& [member, value] : members_) {
    if (member == name) return value;
  }
  return std::nullopt;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [member, old] : members_) {
    if (member == name) {
      old = std::move(value);
      return;
    }
  }
  members_.emplace_back(name, std::move(value));
}

Next Range::iterate(Runtime& rt, const Value& self) {
  return [this, self, &rt, i = std::size_t{0}]() mutable -> std::optional<Value> {
    rt.step();
    return i < count_ ? std::optional(at(i++)) : std::nullopt;
  };
}

std::optional<Value> Range::item(Runtime&, const Value& key) {
  if (!key.is_whole()) return std::nullopt;
  const Int size = static_cast<Int>(count_);
  const Int i = key.whole() < 0 ? key.whole() + size : key.whole();
  return i >= 0 && i < size ? std::optional(at(static_cast<std::size_t>(i))) : std::nullopt;
}

std::string Bytes::repr(Runtime& rt) {
  const std::string& bytes = text_.text().utf8;
  const char quote = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos ? '"' : '\'';
  Writer out(rt);
  out.put('b');
  out.put(quote);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n': out.put("\\n"); continue;
      case '\r': out.put("\\r"); continue;
      case '\t': out.put("\\t"); continue;
      default: break;
    }
    if (c == quote || c == '\\') out.put('\\');
    byte<0x20 || byte> 0x7E ? out.put(fmt::format("\\x{:02x}", byte)) : out.put(c);
  }
  out.put(quote);
  return out.text();
}

Value generator(Runtime& rt, const Value& source, Next next) {
  return Value(std::shared_ptr<Object>(rt.object<Generator>(std::move(next), source.depth() + 1)));
}

Value generator(Runtime& rt, Values values) {
  const Value list = rt.list(std::move(values));
  return generator(rt, list, [list, i = std::size_t{0}]() mutable -> std::optional<Value> {
    const Values& items = list.sequence().items;
    return i < items.size() ? std::optional(items[i++]) : std::nullopt;
  });
}

}  // namespace conclave::jinja
