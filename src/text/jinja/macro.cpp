#include "text/jinja/macro.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "text/jinja/access.h"
#include "text/jinja/show.h"

namespace conclave::jinja {
namespace {

std::shared_ptr<MacroObject> make_macro(Interpreter& in, const Signature& signature) {
  return in.rt.object<MacroObject>(in, signature, in.keep(in.scope()));
}

}  // namespace

std::string MacroObject::repr(Runtime&) {
  return signature_.name.empty() ? "<Macro anonymous>" : "<Macro " + quoted(signature_.name) + ">";
}

std::optional<Value> MacroObject::attribute(Runtime& rt, const Value&, std::string_view name) {
  if (name == "name") return signature_.name.empty() ? Value() : rt.text(signature_.name);
  if (name == "caller") return signature_.uses_caller;
  if (name == "catch_kwargs") return signature_.uses_named;
  if (name == "catch_varargs") return signature_.uses_values;
  if (name != "arguments") return std::nullopt;
  Values names;
  for (const std::string& parameter : signature_.parameters) names.push_back(rt.text(parameter));
  return rt.tuple(std::move(names));
}

Value MacroObject::caller(const Args& args) {
  const Value* given = args.find("caller");
  return given != nullptr && !given->is(Kind::none) ? *given : in_.rt.missing("No caller defined");
}

// Arguments to names, as jinja2.runtime.Macro does it.
void MacroObject::bind(Scope& scope, const Args& args) {
  Runtime& rt = in_.rt;
  const auto& names = signature_.parameters;
  const auto is_parameter = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const std::string shown = quoted(signature_.name.empty() ? "None" : signature_.name);
  std::vector<Entry> others;
  for (const auto& [name, value] : args.named) {
    if (is_parameter(name) || (signature_.uses_caller && name == "caller")) continue;
    if (!signature_.uses_named) rt.fail(fmt::format("macro {} takes no keyword argument {}", shown, quoted(name)));
    others.emplace_back(rt.text(name), value);
  }
  if (args.values.size() > names.size() && !signature_.uses_values) {
    rt.fail(fmt::format("macro {} takes not more than {} argument(s)", shown, names.size()));
  }
  const std::size_t without_default = names.size() - signature_.defaults.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Value* named = args.find(names[i]);
    if (i < args.values.size()) {
      if (named != nullptr && !signature_.uses_named)
        rt.fail(fmt::format("macro {} takes no keyword argument {}", shown, quoted(names[i])));
      scope.set(names[i], args.values[i]);
    } else if (named != nullptr) {
      scope.set(names[i], *named);
    } else if (i >= without_default) {
      scope.set(names[i], in_.evaluate(*signature_.defaults[i - without_default]));
    } else {
      scope.set(names[i], rt.missing(fmt::format("parameter {} was not provided", quoted(names[i]))));
    }
  }
  if (signature_.uses_caller && !is_parameter("caller")) scope.set("caller", caller(args));
  if (signature_.uses_named) scope.set("kwargs", rt.dict(std::move(others)));
  if (signature_.uses_values) {
    const std::size_t taken = std::min(names.size(), args.values.size());
    scope.set("varargs", rt.tuple(Values(args.values.begin() + static_cast<std::ptrdiff_t>(taken), args.values.end())));
  }
}

Value MacroObject::call(Runtime&, const Args& args) {
  const auto scope = std::make_shared<Scope>(scope_.shared_from_this());
  const InScope inside(in_, scope);
  bind(*scope, args);
  return in_.capture([&] { in_.execute(signature_.body); });
}

Flow Macro::execute(Interpreter& in) const {
  in.define(signature.name, Value(std::shared_ptr<Object>(make_macro(in, signature))));
  return Flow::on;
}

Flow CallBlock::execute(Interpreter& in) const {
  const Value block(std::shared_ptr<Object>(make_macro(in, caller)));
  if (call == nullptr) {
    in.print(jinja::call(in.rt, block, {}));
    return Flow::on;
  }
  const Value function = in.evaluate(*call->callee);
  Args args = in.evaluate(call->arguments);
  if (args.find("caller") != nullptr) in.rt.fail("got multiple values for keyword argument 'caller'");
  args.named.emplace_back("caller", block);
  in.print(jinja::call(in.rt, function, args));
  return Flow::on;
}

}  // namespace conclave::jinja
