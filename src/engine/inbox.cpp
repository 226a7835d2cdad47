#include "engine/inbox.h"

#include <iterator>
#include <utility>

namespace conclave {

Inbox::Inbox(std::int32_t most_waiting) : most_waiting_(most_waiting) { arrivals_.reserve(static_cast<std::size_t>(most_waiting)); }

bool Inbox::enter() noexcept {
  if (waiting_.fetch_add(1, std::memory_order_relaxed) < most_waiting_) return true;
  leave();
  return false;
}

void Inbox::put(std::unique_ptr<Sequence> sequence) {
  {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back(std::move(sequence));
    any_.store(true, std::memory_order_release);
  }
  arrived_.notify_one();
}

void Inbox::take_all(std::vector<std::unique_ptr<Sequence>>& out) {
  if (!any_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  out.insert(out.end(), std::move_iterator(arrivals_.begin()), std::move_iterator(arrivals_.end()));
  arrivals_.clear();
  any_.store(false, std::memory_order_relaxed);
}

void Inbox::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, stop, [this] { return !arrivals_.empty(); });
}

}  // namespace conclave
