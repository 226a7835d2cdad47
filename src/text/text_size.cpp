#include "text/text_size.h"

#include <fmt/format.h>

#include "conclave/error.h"

namespace conclave {

void check_text_size(std::size_t bytes) {
  if (bytes <= kMostTextBytes) return;
  throw Error(Errc::bad_input,
              fmt::format("the text has {} bytes, before or after normalizing; at most {} can be tokenized at once", bytes,
                          kMostTextBytes));
}

}  // namespace conclave
