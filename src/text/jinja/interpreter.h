#pragma once
// One render: the scopes, the output, and the running of nodes.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/objects.h"
#include "text/jinja/runtime.h"

namespace conclave::jinja {

// Names and their values. A block, a loop's pass, a macro's call has one of its own, which sees those around it.
// Jinja decides at compile time where a name lives. The outcome is the same but for one oddity: a variable that was given
// to the render is undefined there in the inner blocks before an unconditional {% set %} of that name; here it is visible.
struct Scope : std::enable_shared_from_this<Scope> {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
  Value* find(std::string_view name);
  void set(std::string_view name, Value value);

  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string_view, Value>> names;  // names live in the template or in the variables
  bool captured = false;                                  // listed in Interpreter::captured_
};

class Interpreter {
 public:
  explicit Interpreter(Runtime& runtime)
      : rt(runtime), scope_(std::make_shared<Scope>(nullptr)), out_(&root_out_), root_out_(runtime) {}
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  ~Interpreter();

  void define(std::string_view name, Value value) { scope_->set(name, std::move(value)); }
  std::string render(const Template&);

  // For the nodes.
  Value evaluate(const Expression& expression) {
    const Level level(rt);
    rt.step();
    rt.line = expression.line;
    return expression.evaluate(*this);
  }
  Args evaluate(const Arguments&);
  Flow execute(const Body&);
  // What is printed while `run` runs.
  template <class Run>
  Value capture(const Run& run) {
    Writer text(rt);
    const Redirected redirected(out_, text);
    run();
    return text.value();
  }
  void print(const Value&);
  void print(std::string_view text) { out_->put(text); }
  Value look_up(std::string_view name);
  void assign(const Target&, const Value&);
  std::shared_ptr<Scope> scope() const { return scope_; }
  // Keeps a scope until the end: a macro refers to it, and may be kept in it.
  Scope& keep(const std::shared_ptr<Scope>&);

  Runtime& rt;

 private:
  friend class InScope;

  class Redirected {
   public:
    Redirected(Writer*& place, Writer& to) : place_(place), before_(std::exchange(place, &to)) {}
    Redirected(const Redirected&) = delete;
    Redirected& operator=(const Redirected&) = delete;
    ~Redirected() { place_ = before_; }

   private:
    Writer*& place_;
    Writer* before_;
  };

  Value make_namespace(const Args&);
  void unpack(const Target&, const Value&);

  std::shared_ptr<Scope> scope_;
  std::vector<std::shared_ptr<Scope>> captured_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  Writer* out_;
  Writer root_out_;
};

// Runs what follows in another scope, and comes back.
class InScope {
 public:
  InScope(Interpreter& in, std::shared_ptr<Scope> scope) : in_(in), before_(std::exchange(in.scope_, std::move(scope))) {}
  explicit InScope(Interpreter& in) : InScope(in, std::make_shared<Scope>(in.scope_)) {}  // a new one within the present one
  InScope(const InScope&) = delete;
  InScope& operator=(const InScope&) = delete;
  ~InScope() { in_.scope_ = std::move(before_); }

 private:
  Interpreter& in_;
  std::shared_ptr<Scope> before_;
};

}  // namespace conclave::jinja
