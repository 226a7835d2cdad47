#include "text/byte_run.h"

#include "text/utf8.h"

namespace conclave {

void ByteRun::push(char byte) {
  held_ += byte;
  if (when_ == ByteRuns::whole) return;
  if (broken_) return break_off();
  release_character();
}

void ByteRun::release_character() {
  Utf8Assembler assembler;
  std::string character;
  assembler.push(held_, character);
  if (character.empty()) return;  // more bytes are needed
  if (character != held_) return break_off();
  next_.push({held_, !opened_, false});
  opened_ = true;
  held_.clear();
}

void ByteRun::break_off() {
  close();
  broken_ = true;
  for (std::size_t i = 0; i < held_.size(); ++i) next_.push({kReplacementCharacter, true, true});
  held_.clear();
}

void ByteRun::close() {
  if (opened_) next_.push({"", false, true});
  opened_ = false;
}

void ByteRun::end() {
  if (!held_.empty() && !is_valid_utf8(held_)) break_off();
  if (!held_.empty()) next_.push({held_, true, true});
  close();
  held_.clear();
  broken_ = false;
}

}  // namespace conclave
