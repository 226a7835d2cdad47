#pragma once
// A flag that ends everything a download is doing; workers look at it, the resolving thread sets it.
#include <atomic>
#include <chrono>
#include <thread>

#include "conclave/error.h"

namespace conclave {

class StopFlag {
 public:
  void set() noexcept { set_.store(true, std::memory_order_relaxed); }
  bool is_set() const noexcept { return set_.load(std::memory_order_relaxed); }
  // Throws Error{cancelled}. Its words are for logs only: whoever set the flag knows the reason.
  void check() const {
    if (is_set()) throw Error(Errc::cancelled, "stopped");
  }
  // Sleeps, looking at the flag; throws as check() does.
  void sleep(std::chrono::milliseconds time) const {
    constexpr std::chrono::milliseconds kStep{20};
    for (; time > kStep; time -= kStep) {
      check();
      std::this_thread::sleep_for(kStep);
    }
    std::this_thread::sleep_for(time);
    check();
  }

 private:
  std::atomic<bool> set_{false};
};

}  // namespace conclave
