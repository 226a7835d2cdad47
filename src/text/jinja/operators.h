#pragma once
// Python's arithmetic over values. A wrong pair of types fails in Python's words; so do division by zero and overflow.
#include "text/jinja/value.h"

namespace conclave::jinja {

Value add(Runtime&, const Value&, const Value&);
Value subtract(Runtime&, const Value&, const Value&);
Value multiply(Runtime&, const Value&, const Value&);
Value divide(Runtime&, const Value&, const Value&);
Value floor_divide(Runtime&, const Value&, const Value&);
Value modulo(Runtime&, const Value&, const Value&);  // also '%d' % x
Value power(Runtime&, const Value&, const Value&);
Value negate(Runtime&, const Value&);
Value plus(Runtime&, const Value&);

Value escape(Runtime&, const Value&);  // markup: & < > " ' as entities, unless it is markup already

}  // namespace conclave::jinja
