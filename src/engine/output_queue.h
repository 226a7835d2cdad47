#pragma once
// From the engine to one reader, without locks: the engine appends records to blocks, the reader takes them out and hands
// emptied blocks back, so that a reader who keeps up costs no allocation. Lifetime: shared by the engine's sequence and the
// caller's TokenStream; either may go first.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "conclave/request.h"

namespace conclave {

// One delta as the engine gives it.
struct OutputRecord {
  enum class Kind : std::uint32_t { token, prompt_logprob };
  Kind kind = Kind::token;
  TokenLogprob token{};
  std::span<const TokenLogprob> top{};
  bool with_logprob = false;  // token.logprob and top mean something
  std::string_view text{};
};

class OutputQueue {
 public:
  OutputQueue();
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  // The engine's side. Nothing is pushed after finish(). Records become visible to the reader with wake().
  void push(const OutputRecord&);
  void finish(Done);
  void wake() noexcept;
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

  // The reader's side.
  std::optional<std::variant<Delta, Done>> try_read();
  std::variant<Delta, Done> read();  // waits
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  struct Block;
  Block* new_block(std::size_t bytes);
  bool advance() noexcept;  // to the next unread record
  Delta read_delta();
  void append_prompt_logprobs(Delta&);

  Block* head_;  // the reader's
  std::size_t read_ = 0;
  Block* tail_;  // the engine's
  std::atomic<Block*> spare_;
  std::optional<Done> done_;  // written once, before finished_
  std::atomic<bool> finished_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<std::int32_t> events_{0};  // grows with every wake
};

}  // namespace conclave
