// How statements run, but for loops (loop.cpp) and macros (macro.cpp).
#include "text/jinja/access.h"
#include "text/jinja/interpreter.h"

namespace conclave::jinja {

Flow Data::execute(Interpreter& in) const {
  in.print(text);
  return Flow::on;
}

Flow Print::execute(Interpreter& in) const {
  in.print(in.evaluate(*value));
  return Flow::on;
}

Flow If::execute(Interpreter& in) const {
  for (const auto& [condition, body] : branches) {
    if (truth(in.rt, in.evaluate(*condition))) return in.execute(body);
  }
  return in.execute(otherwise);
}

Flow Set::execute(Interpreter& in) const {
  in.assign(target, in.evaluate(*value));
  return Flow::on;
}

namespace {

// Runs a block in a scope of its own; its text, filtered, in `text`.
Flow run_block(Interpreter& in, const Body& body, const std::vector<FilterCall>& filters, Value& text) {
  const InScope scope(in);
  Flow flow = Flow::on;
  text = in.capture([&] { flow = in.execute(body); });
  if (flow != Flow::on) return flow;
  for (const FilterCall& filter : filters) text = filter.apply(in, text);
  return flow;
}

}  // namespace

Flow SetBlock::execute(Interpreter& in) const {
  Value text;
  const Flow flow = run_block(in, body, filters, text);
  if (flow == Flow::on) in.assign(target, text);
  return flow;
}

Flow FilterBlock::execute(Interpreter& in) const {
  Value text;
  const Flow flow = run_block(in, body, filters, text);
  if (flow == Flow::on) in.print(text);
  return flow;
}

Flow With::execute(Interpreter& in) const {
  Values values;
  for (const auto& [target, value] : assignments) values.push_back(in.evaluate(*value));
  const InScope scope(in);
  for (std::size_t i = 0; i < values.size(); ++i) in.assign(assignments[i].first, values[i]);
  return in.execute(body);
}

}  // namespace conclave::jinja
