#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "conclave/error.h"

namespace conclave {

void check_failed(const char* expression, const char* file, int line, const std::string& values) noexcept {
  std::fprintf(stderr, "%s:%d: internal error, this does not hold: %s%s%s\n", file, line, expression, values.empty() ? "" : "; ",
               values.c_str());
  std::abort();
}

const char* to_string(Errc code) noexcept {
  switch (code) {
    case Errc::bad_input: return "bad input";
    case Errc::not_found: return "not found";
    case Errc::corrupt: return "corrupt";
    case Errc::unsupported: return "unsupported";
    case Errc::out_of_memory: return "out of memory";
    case Errc::device: return "device";
    case Errc::cancelled: return "cancelled";
    case Errc::busy: return "busy";
    case Errc::internal: return "internal";
  }
  return "unknown";
}

}  // namespace conclave
