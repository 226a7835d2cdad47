#pragma once
// Text to tokens and back, as a tokenizer.json (Hugging Face tokenizers, BPE models) describes it. Everything in the file
// that would change a token is either done or refused by name.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace conclave {

class TokenDecoder;

// Immutable; all methods are thread-safe.
class Tokenizer {
 public:
  // `tokenizer_json` is the text of tokenizer.json; `tokenizer_config_json` that of tokenizer_config.json, or empty.
  // Of the latter only bos_token, eos_token, pad_token, add_bos_token and add_eos_token are read. "truncation" and
  // "padding" are not applied. Throws Error{corrupt|unsupported}.
  static std::unique_ptr<const Tokenizer> from_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json = {});
  ~Tokenizer();

  // Added tokens written out in `text` become those tokens, special ones too. Bytes that are not UTF-8 are read as U+FFFD
  // (maximal-subpart rule, text/utf8.h). `add_special_tokens` puts special_prefix() before and special_suffix() behind,
  // whatever the text begins with: a rendered chat template must be encoded without.
  // Throws Error{bad_input}: more than kMostTextBytes (text/text_size.h), or a regular expression that would not end.
  std::vector<Token> encode(std::string_view text, bool add_special_tokens) const;

  // Ids that are no token are passed over. Equals what an IncrementalDecoder with ByteRuns::whole gives.
  std::string decode(std::span<const Token> tokens, bool skip_special_tokens) const;

  // One more than the highest id; there may be holes below it, and a model's logits may be wider.
  Token vocab_size() const;
  bool has(Token) const;
  std::optional<Token> id_of(std::string_view token) const;
  std::string_view text_of(Token) const;  // as the file writes it ("Ġhello"); "" when there is no such token
  bool is_special(Token) const;
  // What the token adds to the middle of a text, as bytes: " hello", one byte of a character, ... ; "" when there is none.
  std::string bytes_of(Token) const;

  // What add_special_tokens adds (from the post-processor of tokenizer.json).
  const std::vector<Token>& special_prefix() const;
  const std::vector<Token>& special_suffix() const;

  // From tokenizer_config.json, whose add_* flags tokenizer.json does not follow: encode() does not look at them.
  std::optional<Token> bos() const;
  std::optional<Token> eos() const;
  std::optional<Token> pad() const;
  std::optional<bool> add_bos() const;
  std::optional<bool> add_eos() const;

  const TokenDecoder& decoder() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts>);
  std::unique_ptr<const Parts> parts_;
};

}  // namespace conclave
