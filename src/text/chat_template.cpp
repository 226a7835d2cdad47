#include "text/chat_template.h"

#include <fmt/format.h>

#include "conclave/error.h"
#include "io/json.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"
#include "text/utf8.h"

namespace conclave {
namespace {

using jinja::Int;
using jinja::Runtime;
using jinja::Value;

Value to_value(Runtime& rt, const OrderedJson& json) {
  const jinja::Level level(rt);
  switch (json.type()) {
    case OrderedJson::value_t::boolean: return json.get<bool>();
    case OrderedJson::value_t::number_integer: return Int{json.get<std::int64_t>()};
    case OrderedJson::value_t::number_unsigned: return Int{json.get<std::uint64_t>()};
    case OrderedJson::value_t::number_float: return json.get<double>();
    case OrderedJson::value_t::string: {
      const auto& text = json.get_ref<const std::string&>();
      if (!is_valid_utf8(text)) throw Error(Errc::bad_input, "a text given to the chat template is not UTF-8");
      return rt.text(text);
    }
    case OrderedJson::value_t::array: {
      jinja::Values items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(to_value(rt, item));
      return rt.list(std::move(items));
    }
    case OrderedJson::value_t::object: {
      std::vector<jinja::Entry> entries;
      entries.reserve(json.size());
      for (const auto& [key, value] : json.items()) {
        if (!is_valid_utf8(key)) throw Error(Errc::bad_input, "a key given to the chat template is not UTF-8");
        Value name = rt.text(key);
        entries.emplace_back(std::move(name), to_value(rt, value));
      }
      return rt.dict(std::move(entries));
    }
    default: return {};
  }
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view source) { return ChatTemplate(jinja::parse_template(source)); }

std::string ChatTemplate::render(const OrderedJson& variables, const RenderOptions& options) const {
  if (!variables.is_object())
    throw Error(Errc::bad_input, fmt::format("chat template variables: expected an object, found {}", variables.type_name()));
  Runtime runtime(options);
  jinja::Interpreter interpreter(runtime);
  for (const auto& [name, value] : variables.get_ref<const OrderedJson::object_t&>())
    interpreter.define(name, to_value(runtime, value));
  return interpreter.render(*parsed_);
}

}  // namespace conclave
