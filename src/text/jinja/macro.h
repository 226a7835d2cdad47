#pragma once
// A macro as a value: what {% macro %} defines, and `caller` within a call block.

#include "text/jinja/interpreter.h"

namespace conclave::jinja {

// The scope is where the macro was defined; the interpreter keeps it (Interpreter::keep).
class MacroObject final : public Object {
 public:
  MacroObject(Interpreter& in, const Signature& signature, Scope& scope) : in_(in), signature_(signature), scope_(scope) {}

  std::string type_name() const override { return "jinja2.runtime.Macro"; }
  std::string repr(Runtime&) override;
  std::optional<Value> attribute(Runtime&, const Value& self, std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Runtime&, const Args&) override;

 private:
  void bind(Scope&, const Args&);
  Value caller(const Args&);

  Interpreter& in_;
  const Signature& signature_;
  Scope& scope_;
};

}  // namespace conclave::jinja
