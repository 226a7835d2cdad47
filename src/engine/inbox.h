#pragma once
// The bounded queue from all callers into the engine thread.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "engine/sequence.h"

namespace conclave {

class Inbox {
 public:
  // `most_waiting`: requests between enter() and leave().
  explicit Inbox(std::int32_t most_waiting);

  // Callers. enter() before the work of making a sequence, so that a full engine refuses cheaply; each that succeeds is followed
  // by one leave(): when the sequence begins to run, or ends without, or was never made.
  bool enter() noexcept;
  void leave() noexcept { waiting_.fetch_sub(1, std::memory_order_relaxed); }
  void put(std::unique_ptr<Sequence>);
  std::int32_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

  // The engine thread. Appends what has come to `out`; takes no lock when nothing has.
  void take_all(std::vector<std::unique_ptr<Sequence>>& out);
  // Returns when something has come or a stop is requested.
  void wait(const std::stop_token&);

 private:
  const std::int32_t most_waiting_;
  std::atomic<std::int32_t> waiting_{0};
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::vector<std::unique_ptr<Sequence>> arrivals_;
};

}  // namespace conclave
