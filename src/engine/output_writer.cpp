#include "engine/output_writer.h"

#include <algorithm>

namespace conclave {
namespace {

// Enough of the prompt for a decoder to know how the answer continues it: more than the bytes of a character.
constexpr std::size_t kPrimingTokens = 32;
constexpr std::size_t kUsualPiece = 256;  // bytes; longer ones make the buffers grow

}  // namespace

OutputWriter::OutputWriter(std::shared_ptr<OutputQueue> queue, const Tokenizer* tokenizer, std::span<const std::int32_t> prompt,
                           const SamplingParams& params)
    : queue_(std::move(queue)), stops_(params.stop, params.include_stop_str_in_output) {
  if (tokenizer == nullptr) return;
  decoder_.emplace(*tokenizer, params.skip_special_tokens, prompt.last(std::min(prompt.size(), kPrimingTokens)));
  piece_.reserve(kUsualPiece);
  text_.reserve(kUsualPiece + stops_.longest());
}

std::int32_t OutputWriter::take(std::int32_t id, bool watch) {
  if (!decoder_) return StopMatcher::kNone;
  piece_.clear();
  decoder_->push(id, piece_);
  if (watch) return stops_.push(piece_, text_);
  text_ += piece_;
  return StopMatcher::kNone;
}

void OutputWriter::take_rest() {
  stops_.release(text_);
  if (decoder_) text_ += decoder_->flush();
}

void OutputWriter::send(std::int32_t id, const TokenLogprob* logprob, std::span<const TokenLogprob> top) {
  queue_->push({.token = logprob != nullptr ? *logprob : TokenLogprob{id, 0.0f},
                .top = top,
                .with_logprob = logprob != nullptr,
                .text = text_});
  text_.clear();
}

void OutputWriter::send_prompt_logprob(TokenLogprob token, std::span<const TokenLogprob> top) {
  queue_->push({.kind = OutputRecord::Kind::prompt_logprob, .token = token, .top = top, .with_logprob = true});
}

}  // namespace conclave
