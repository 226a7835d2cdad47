#include "text/incremental_decoder.h"

namespace conclave {

IncrementalDecoder::IncrementalDecoder(const Tokenizer& tokenizer, bool skip_special_tokens, std::span<const Token> prompt,
                                       ByteRuns byte_runs)
    : tokenizer_(tokenizer), skip_special_tokens_(skip_special_tokens), stream_(tokenizer.decoder(), byte_runs) {
  std::string unused;
  for (const Token token : prompt) {
    push(token, unused);
    unused.clear();
  }
}

void IncrementalDecoder::push(Token token, std::string& out) {
  if (!tokenizer_.has(token) || (skip_special_tokens_ && tokenizer_.is_special(token))) return;
  stream_.push(tokenizer_.text_of(token), out);
}

std::string IncrementalDecoder::push(Token token) {
  std::string out;
  push(token, out);
  return out;
}

std::string IncrementalDecoder::flush() {
  std::string out;
  stream_.finish(out);
  return out;
}

}  // namespace conclave
