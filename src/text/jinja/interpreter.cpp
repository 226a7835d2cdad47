#include "text/jinja/interpreter.h"

#include <fmt/format.h>

#include "text/jinja/access.h"
#include "text/jinja/show.h"

namespace conclave::jinja {

Value* Scope::find(std::string_view name) {
  for (auto& [known, value] : names) {
    if (known == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  if (Value* old = find(name)) {
    *old = std::move(value);
  } else {
    names.emplace_back(name, std::move(value));
  }
}

// Namespaces may hold themselves, and scopes the macros that refer to them: emptied, they can all go.
Interpreter::~Interpreter() {
  for (const auto& space : namespaces_) space->clear();
  for (const auto& scope : captured_) scope->names.clear();
}

std::string Interpreter::render(const Template& parsed) {
  execute(parsed.body);
  return root_out_.text();
}

Args Interpreter::evaluate(const Arguments& arguments) {
  Args out;
  for (const auto& value : arguments.values) out.values.push_back(evaluate(*value));
  for (const auto& [name, value] : arguments.named) out.named.emplace_back(name, evaluate(*value));
  if (arguments.more_values != nullptr) {
    for (Value& value : to_values(rt, evaluate(*arguments.more_values))) out.values.push_back(std::move(value));
  }
  if (arguments.more_named != nullptr) {
    const Value more = evaluate(*arguments.more_named);
    if (!more.is(Kind::mapping)) rt.fail("argument after ** must be a mapping, not " + type_name(more));
    for (const auto& [key, value] : more.mapping().entries) {
      if (!key.is(Kind::text)) rt.fail("keywords must be strings");
      if (out.find(key.text().utf8) != nullptr) rt.fail("got multiple values for keyword argument " + quoted(key.text().utf8));
      out.named.emplace_back(key.text().utf8, value);
    }
  }
  return out;
}

Flow Interpreter::execute(const Body& body) {
  const Level level(rt);
  for (const auto& statement : body) {
    rt.step();
    rt.line = statement->line;
    if (const Flow flow = statement->execute(*this); flow != Flow::on) return flow;
  }
  return Flow::on;
}

void Interpreter::print(const Value& value) { write_text(*out_, rt, value); }

Value Interpreter::look_up(std::string_view name) {
  for (Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    if (const Value* found = scope->find(name)) return *found;
  }
  if (name == "namespace") {
    return Value(
        std::shared_ptr<Object>(rt.object<Function>("type", [this](Runtime&, const Args& args) { return make_namespace(args); })));
  }
  if (const Builtin* function = find_builtin(globals(), name)) {
    return Value(std::shared_ptr<Object>(rt.object<Function>(
        "function", [function](Runtime& runtime, const Args& args) { return (*function)(runtime, Value(), args); })));
  }
  return rt.missing_name(name);
}

Value Interpreter::make_namespace(const Args& args) {
  auto made = rt.object<Namespace>();
  if (args.values.size() > 1) rt.fail("namespace expected at most 1 argument");
  for (const Value& source : args.values) {
    if (!source.is(Kind::mapping)) rt.fail("namespace wants a mapping or names with values");
    for (const auto& [key, value] : source.mapping().entries) made->set(to_text(rt, key).text().utf8, value);
  }
  for (const auto& [name, value] : args.named) made->set(name, value);
  rt.keep_bytes(sizeof(Namespace) + 128);
  namespaces_.push_back(made);
  return Value(std::shared_ptr<Object>(made));
}

void Interpreter::assign(const Target& target, const Value& value) {
  if (!target.parts.empty()) return unpack(target, value);
  if (target.attribute.empty()) return scope_->set(target.name, value);
  const Value space = look_up(target.name);
  auto* found = space.is(Kind::object) ? dynamic_cast<Namespace*>(&space.object()) : nullptr;
  if (found == nullptr) rt.fail("cannot assign attribute on non-namespace object");
  found->set(target.attribute, value);
}

void Interpreter::unpack(const Target& target, const Value& value) {
  const Next next = iterate(rt, value);
  if (!next) rt.fail(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
  Values items;
  while (auto item = next()) {
    if (items.size() == target.parts.size()) rt.fail(fmt::format("too many values to unpack (expected {})", target.parts.size()));
    items.push_back(std::move(*item));
  }
  if (items.size() < target.parts.size()) {
    rt.fail(fmt::format("not enough values to unpack (expected {}, got {})", target.parts.size(), items.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
}

Scope& Interpreter::keep(const std::shared_ptr<Scope>& scope) {
  if (!scope->captured) {
    scope->captured = true;
    rt.keep_bytes(sizeof(Scope) + 128);
    captured_.push_back(scope);
  }
  return *scope;
}

}  // namespace conclave::jinja
