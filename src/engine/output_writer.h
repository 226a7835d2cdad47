#pragma once
// What one sequence says: tokens become text in whole characters, stop strings end it, and the result goes to its queue.
// Works without a tokenizer: then there are tokens and no text.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/output_queue.h"
#include "engine/stop_matcher.h"
#include "text/incremental_decoder.h"

namespace conclave {

class OutputWriter {
 public:
  // `tokenizer` may be null; it outlives this.
  OutputWriter(std::shared_ptr<OutputQueue>, const Tokenizer* tokenizer, std::span<const std::int32_t> prompt,
               const SamplingParams&);

  // Takes the next token's text; `watch`: a stop string that ends in it ends the answer. Returns the index of that string or
  // StopMatcher::kNone. Nothing may be taken after a stop string.
  std::int32_t take(std::int32_t id, bool watch);
  // The answer ends: text that was held is text after all. Not after a stop string.
  void take_rest();
  // Sends the token with all text taken since the last one. `logprob` null: not asked for.
  void send(std::int32_t id, const TokenLogprob* logprob, std::span<const TokenLogprob> top);
  void send_prompt_logprob(TokenLogprob, std::span<const TokenLogprob> top);
  void wake() noexcept { queue_->wake(); }
  void finish(Done done) { queue_->finish(std::move(done)); }

  bool cancelled() const noexcept { return queue_->cancelled(); }
  const std::string& stop_string(std::int32_t index) const { return stops_.stop(index); }

 private:
  std::shared_ptr<OutputQueue> queue_;
  std::optional<IncrementalDecoder> decoder_;
  StopMatcher stops_;
  std::string piece_, text_;  // of one token; ready to send
};

}  // namespace conclave
