#pragma once
// Python's two ways to format text: '%05.2f' % x and '{:>5}'.format(x).
#include "text/jinja/builtin.h"

namespace conclave::jinja {

Value percent_format(Runtime&, const Value& format, const Value& argument);  // argument: a tuple, a mapping or one value
Value brace_format(Runtime&, const Value& format, const Args&);

// Parts of both.
struct NumberStyle {
  char type;               // d x X o b, or e E f F g G %
  int precision = -1;      // -1: not given
  bool alternate = false;  // '#': 0x before, or the point kept
  char grouping = 0;       // ',' or '_' between thousands
};
std::string format_whole(Int magnitude, const NumberStyle&);  // magnitude >= 0; no sign
std::string format_real(double magnitude, const NumberStyle&);

}  // namespace conclave::jinja
