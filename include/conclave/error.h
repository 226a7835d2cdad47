#pragma once
// The one exception type of the project. It is thrown while setting up (opening, loading, configuring);
// nothing on the request path throws by design, and no kernel ever does.
#include <stdexcept>
#include <string>

#include "conclave/export.h"

namespace conclave {

// What kind of thing went wrong. Stable: part of the public interface.
enum class Errc {
  bad_input,    // the caller's value is wrong (option, field, prompt)
  not_found,    // a file, a tensor or a name does not exist
  corrupt,      // bytes that contradict themselves or their format
  unsupported,  // understood, and not something this build or machine can do
  out_of_memory,
  device,  // the accelerator or the operating system refused
  cancelled,
  busy,      // nothing is wrong; trying again later may help
  internal,  // our own fault
};

CONCLAVE_EXPORT const char* to_string(Errc) noexcept;

// what() says what was expected, what was found and what to do about it, in that order.
class CONCLAVE_EXPORT Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& words) : std::runtime_error(words), code_(code) {}
  Errc code() const noexcept { return code_; }

  // The same error, told from one level further up: "opening 'x': <words>".
  Error with_context(const std::string& where) const { return {code_, where + ": " + what()}; }

 private:
  Errc code_;
};

}  // namespace conclave
