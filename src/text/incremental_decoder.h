#pragma once
// Tokens to text one by one, never half a character: what a streamed reply is made of.
#include <span>
#include <string>

#include "text/token_decoder.h"
#include "text/tokenizer.h"

namespace conclave {

// For one reply; not thread-safe; must not outlive the tokenizer.
//
// The pieces and flush(), joined, equal Tokenizer::decode() of all tokens (with a prompt: less the prompt's own text), with
// one exception, by nature: decode() turns all of a run of byte tokens into U+FFFD when any byte of it is not UTF-8, and
// with ByteRuns::early the characters of such a run that were complete before the fault have been given out already.
class IncrementalDecoder {
 public:
  // `prompt` is decoded without giving out its text, so that the reply begins as it stands behind the prompt (a space that
  // begins a text is dropped by some decoders) and may complete a character that the prompt began.
  IncrementalDecoder(const Tokenizer&, bool skip_special_tokens, std::span<const Token> prompt = {}, ByteRuns = ByteRuns::early);

  // Appends to `out` the text that this token completes; often all of its own, sometimes none. Invalid UTF-8 becomes U+FFFD
  // by the maximal-subpart rule, as soon as it is known to be invalid. An id that is no token is passed over.
  void push(Token, std::string& out);
  std::string push(Token);

  // The end of the reply: what is held back. Nothing may be pushed after it.
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_tokens_;
  TokenDecoder::Stream stream_;
};

}  // namespace conclave
