#pragma once
// A run of byte tokens on its way to text: the ByteFallback decoder's state.
#include <string>

#include "text/token_decoder.h"

namespace conclave {

class ByteRun {
 public:
  ByteRun(DecodeStage& next, ByteRuns when) : next_(next), when_(when) {}

  void push(char byte);
  // The next token is no byte, or there is none: a run that is not valid UTF-8 becomes one U+FFFD for each byte.
  void end();

 private:
  void release_character();  // early only
  void break_off();
  void close();

  DecodeStage& next_;
  ByteRuns when_;
  std::string held_;     // bytes not yet given out
  bool opened_ = false;  // a part of the run's token was given out
  bool broken_ = false;  // early only: the run has shown to be invalid
};

}  // namespace conclave
