#pragma once
// The "decoder" of tokenizer.json: the texts of tokens become text. Written as a stream, so that decoding at once and
// decoding token by token are one thing.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_fwd.h"

namespace conclave {

// When the characters that a run of byte tokens (<0xE2>, ...) spells are given out. Such a run counts as text only if
// all of it is valid UTF-8; else every byte of it is U+FFFD, and that is known only when the run has ended.
enum class ByteRuns {
  early,  // each character with its last byte; should the run break later, only what was not yet given out is U+FFFD
  whole,  // the run when it has ended
};

// A part of the text that one token became. Parts of one token follow each other.
struct DecodedPart {
  std::string_view text;             // whole characters
  bool opens = true, closes = true;  // the token's first / last part
};

// One step at work on one stream of tokens. It hands what it makes to the next one.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void push(const DecodedPart&) = 0;
  virtual void finish() = 0;  // the end of all tokens
};

// One step; immutable.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual std::unique_ptr<DecodeStage> start(DecodeStage& next, ByteRuns) const = 0;
  // What the step makes of a token's bytes in the middle of a text, without its neighbours; true when no later step may change
  // them.
  virtual bool spell(std::string& token) const = 0;
  // Whether it can only take tokens in one part, and whether it gives them out in several.
  virtual bool needs_whole_tokens() const { return false; }
  virtual bool parts_tokens() const { return false; }
};

class TokenDecoder {
 public:
  // nullptr means none: tokens are joined by spaces. Known: Sequence, ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace.
  // Throws Error{corrupt}, and Error{unsupported} for any other and for orders in which a step would have to wait for the
  // end of the text (ByteFallback, ByteLevel or Replace by a regular expression behind Fuse, ByteFallback or ByteLevel).
  static TokenDecoder from_json(const Json*, const std::string& path);

  // The bytes of one token by itself, as it stands in the middle of a text; they need not be valid UTF-8.
  std::string bytes_of(std::string_view token) const;

  // Decoding of one sequence of tokens; must not outlive the TokenDecoder.
  class Stream {
   public:
    Stream(const TokenDecoder&, ByteRuns);
    ~Stream();
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    // Appends to `out` the text that is now complete.
    void push(std::string_view token, std::string& out);
    // Appends what was held back. Nothing may be pushed after it.
    void finish(std::string& out);

   private:
    struct Sink;
    std::unique_ptr<Sink> sink_;
    std::vector<std::unique_ptr<DecodeStage>> stages_;  // the first to take a token is the last
  };

 private:
  std::vector<std::unique_ptr<const DecodeStep>> steps_;
};

}  // namespace conclave
