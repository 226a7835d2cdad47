#include "engine/output_queue.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace conclave {
namespace {

constexpr std::size_t kBlockBytes = 4096;

// Followed by `top` TokenLogprobs and `text` bytes, then padding to the alignment of the next header.
struct Header {
  OutputRecord::Kind kind;
  std::uint32_t with_logprob;
  TokenLogprob token;
  std::uint32_t top;
  std::uint32_t text;
};

std::size_t bytes_of(std::size_t top, std::size_t text) {
  const std::size_t bytes = sizeof(Header) + top * sizeof(TokenLogprob) + text;
  return (bytes + alignof(Header) - 1) / alignof(Header) * alignof(Header);
}

}  // namespace

struct OutputQueue::Block {
  explicit Block(std::size_t bytes) : data(std::make_unique<std::byte[]>(bytes)), capacity(bytes) {}

  std::unique_ptr<std::byte[]> data;
  std::size_t capacity;
  std::atomic<std::size_t> written{0};
  std::atomic<Block*> next{nullptr};  // set when nothing more will be written here
};

OutputQueue::OutputQueue() : head_(new Block(kBlockBytes)), tail_(head_), spare_(new Block(kBlockBytes)) {}

OutputQueue::~OutputQueue() {
  delete spare_.load();
  for (Block* block = head_; block != nullptr;) delete std::exchange(block, block->next.load());
}

OutputQueue::Block* OutputQueue::new_block(std::size_t bytes) {
  Block* block = spare_.exchange(nullptr, std::memory_order_acquire);
  if (block != nullptr && block->capacity >= bytes) {
    block->written.store(0, std::memory_order_relaxed);
    block->next.store(nullptr, std::memory_order_relaxed);
    return block;
  }
  delete block;
  return new Block(std::max(bytes, kBlockBytes));
}

void OutputQueue::push(const OutputRecord& record) {
  const std::size_t bytes = bytes_of(record.top.size(), record.text.size());
  std::size_t at = tail_->written.load(std::memory_order_relaxed);
  if (at + bytes > tail_->capacity) {
    Block* block = new_block(bytes);
    tail_->next.store(block, std::memory_order_release);
    tail_ = block;
    at = 0;
  }
  const Header header{record.kind, record.with_logprob ? 1u : 0u, record.token, static_cast<std::uint32_t>(record.top.size()),
                      static_cast<std::uint32_t>(record.text.size())};
  std::byte* to = tail_->data.get() + at;
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  if (!record.top.empty()) std::memcpy(to, record.top.data(), record.top.size_bytes());
  to += record.top.size_bytes();
  if (!record.text.empty()) std::memcpy(to, record.text.data(), record.text.size());
  tail_->written.store(at + bytes, std::memory_order_release);
}

void OutputQueue::finish(Done done) {
  done_.emplace(std::move(done));
  finished_.store(true, std::memory_order_release);
  wake();
}

void OutputQueue::wake() noexcept {
  events_.fetch_add(1, std::memory_order_release);
  events_.notify_all();
}

// The order matters: a block is left only when its successor was seen before its `written`, which is final then.
bool OutputQueue::advance() noexcept {
  while (true) {
    Block* next = head_->next.load(std::memory_order_acquire);
    if (read_ < head_->written.load(std::memory_order_acquire)) return true;
    if (next == nullptr) return false;
    delete spare_.exchange(std::exchange(head_, next), std::memory_order_acq_rel);
    read_ = 0;
  }
}

std::optional<std::variant<Delta, Done>> OutputQueue::try_read() {
  const bool finished = finished_.load(std::memory_order_acquire);  // before looking for records: none come after it
  if (advance()) return read_delta();
  if (finished) return *done_;
  return std::nullopt;
}

std::variant<Delta, Done> OutputQueue::read() {
  while (true) {
    const std::int32_t seen = events_.load(std::memory_order_acquire);
    if (auto event = try_read()) return *std::move(event);
    events_.wait(seen, std::memory_order_acquire);
  }
}

namespace {

struct Parsed {
  Header header;
  TokenLogprobs logprobs;
  std::string_view text;
  std::size_t bytes;
};

Parsed parse(const std::byte* from) {
  Parsed out;
  std::memcpy(&out.header, from, sizeof out.header);
  from += sizeof out.header;
  out.logprobs.token = out.header.token;
  out.logprobs.top.resize(out.header.top);
  if (out.header.top != 0) std::memcpy(out.logprobs.top.data(), from, out.header.top * sizeof(TokenLogprob));
  out.text = {reinterpret_cast<const char*>(from + out.header.top * sizeof(TokenLogprob)), out.header.text};
  out.bytes = bytes_of(out.header.top, out.header.text);
  return out;
}

}  // namespace

Delta OutputQueue::read_delta() {
  Delta delta;
  Parsed record = parse(head_->data.get() + read_);
  if (record.header.kind == OutputRecord::Kind::prompt_logprob) {
    append_prompt_logprobs(delta);
    return delta;
  }
  read_ += record.bytes;
  delta.text = record.text;
  delta.tokens.push_back(record.header.token.id);
  if (record.header.with_logprob != 0) delta.logprobs.push_back(std::move(record.logprobs));
  return delta;
}

// All that lie there, as one delta.
void OutputQueue::append_prompt_logprobs(Delta& delta) {
  while (advance()) {
    Parsed record = parse(head_->data.get() + read_);
    if (record.header.kind != OutputRecord::Kind::prompt_logprob) return;
    read_ += record.bytes;
    delta.prompt_logprobs.push_back(std::move(record.logprobs));
  }
}

}  // namespace conclave
