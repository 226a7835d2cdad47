#include "text/metaspace.h"

#include <fmt/format.h>

#include "conclave/error.h"
#include "text/utf8.h"

namespace conclave {

MetaspaceScheme MetaspaceScheme::from_json(const JsonFields& fields) {
  MetaspaceScheme scheme;
  scheme.replacement = fields.text("replacement");
  if (scheme.replacement.empty() || utf8_length(scheme.replacement[0]) != scheme.replacement.size()) {
    throw Error(Errc::corrupt,
                fmt::format("{}: expected one character, found '{}'", fields.path_of("replacement"), scheme.replacement));
  }
  const std::string prepend = fields.optional_text("prepend_scheme").value_or("always");
  if (prepend == "first") {
    scheme.prepend = Prepend::first;
  } else if (prepend == "never") {
    scheme.prepend = Prepend::never;
  } else if (prepend != "always") {
    throw Error(Errc::corrupt,
                fmt::format("{}: expected always, first or never, found '{}'", fields.path_of("prepend_scheme"), prepend));
  }
  if (!fields.flag("add_prefix_space", true)) {
    if (fields.find("prepend_scheme") != nullptr && scheme.prepend != Prepend::never) {
      throw Error(Errc::corrupt, fields.path() + ": add_prefix_space is false, and prepend_scheme is '" + prepend + "'");
    }
    scheme.prepend = Prepend::never;
  }
  return scheme;
}

}  // namespace conclave
