// A tokenizer.json, a NUL byte, and a text: either the file is refused with an Error, or the text becomes valid ids, and
// decoding them at once and one by one gives the same valid UTF-8.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "conclave/error.h"
#include "text/incremental_decoder.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void tokenize(const conclave::Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text, true);
  std::string bytes;
  for (const conclave::Token id : ids) {
    must(tokenizer.has(id));
    bytes += tokenizer.bytes_of(id);
  }
  for (const bool skip : {false, true}) {
    const std::string whole = tokenizer.decode(ids, skip);
    conclave::IncrementalDecoder exact(tokenizer, skip, {}, conclave::ByteRuns::whole), early(tokenizer, skip);
    std::string joined;
    for (const conclave::Token id : ids) {
      exact.push(id, joined);
      must(conclave::is_valid_utf8(early.push(id)));
    }
    joined += exact.flush();
    must(conclave::is_valid_utf8(early.flush()));
    must(joined == whole && conclave::is_valid_utf8(whole));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string_view text = cut == std::string_view::npos ? std::string_view() : input.substr(cut + 1);
  try {
    tokenize(*conclave::Tokenizer::from_json(input.substr(0, cut)), text);
  } catch (const conclave::Error&) {
  }
  return 0;
}
