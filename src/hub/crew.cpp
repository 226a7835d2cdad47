#include "hub/crew.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace conclave {
namespace {

constexpr std::chrono::milliseconds kTick{100};

class Crew {
 public:
  Crew(std::size_t count, StopFlag& stop, const std::function<void(int, std::size_t)>& task)
      : count_(count), stop_(stop), task_(task) {}

  void start(int workers) {
    const std::lock_guard lock(mutex_);
    for (int w = 0; w < workers && static_cast<std::size_t>(w) < count_; ++w) {
      try {
        threads_.emplace_back([this, w] { work(w); });
      } catch (const std::system_error&) {  // no more threads to be had: those that run do it all
        if (w == 0) throw;
        break;
      }
      ++working_;
    }
  }
  void watch(const std::function<void()>& tick) {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kTick, [this] { return working_ == 0; })) {
      lock.unlock();
      guarded(tick);
      lock.lock();
    }
  }
  void finish() {
    for (std::thread& thread : threads_) thread.join();
    if (first_) std::rethrow_exception(first_);
  }

 private:
  void work(int worker) noexcept {
    for (std::size_t i = next_++; i < count_ && !stop_.is_set(); i = next_++) guarded([&] { task_(worker, i); });
    const std::lock_guard lock(mutex_);
    if (--working_ == 0) ended_.notify_all();
  }
  template <class Act>
  void guarded(const Act& act) noexcept {
    try {
      act();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = std::current_exception();
      stop_.set();
    }
  }

  std::size_t count_;
  StopFlag& stop_;
  const std::function<void(int, std::size_t)>& task_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  // working_, first_
  std::condition_variable ended_;
  int working_ = 0;
  std::exception_ptr first_;
  std::vector<std::thread> threads_;
};

}  // namespace

void run_together(std::size_t count, int workers, StopFlag& stop, const std::function<void(int, std::size_t)>& task,
                  const std::function<void()>& tick) {
  if (count == 0) return;
  Crew crew(count, stop, task);
  crew.start(std::max(workers, 1));
  crew.watch(tick);
  crew.finish();
}

}  // namespace conclave
