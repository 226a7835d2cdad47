#include "device/thread_pool.h"

#include <fmt/core.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "conclave/error.h"
#include "device/cpu_features.h"

namespace conclave {
namespace {

constexpr std::size_t kLine = 64;

// How long a thread looks before it sleeps: longer than the serial code between two regions of a step, shorter than anyone
// notices as a busy CPU.
constexpr std::chrono::microseconds kWorkerSpin{100};
constexpr std::chrono::microseconds kJoinSpin{50};

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins until done() or until `budget` has passed; says whether done(). The clock is read seldom, since it costs more than a look.
template <class Done>
bool spin_until(std::chrono::microseconds budget, Done done) noexcept {
  constexpr int kLooksPerClock = 64;
  const auto deadline = std::chrono::steady_clock::now() + budget;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (done()) return true;
      pause_cpu();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

void pin_this_thread(int cpu) noexcept {
  // A wish: where the system refuses, only speed is lost.
  const auto capacity = static_cast<unsigned>(cpu) + 1;
  cpu_set_t* set = CPU_ALLOC(capacity);
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<unsigned>(cpu), bytes, set);
  pthread_setaffinity_np(pthread_self(), bytes, set);
  CPU_FREE(set);
}

// Signals are for the threads of the program, not for ours.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

// How a region runs. The caller writes task, context and tasks and then stores `remaining` (release). Whoever takes `remaining`
// down from a positive value has claimed one task, and reads the rest of the job only then: a claim keeps the region open, so the
// job cannot change under its reader, whichever region a late worker meets. Each thread reports the tasks it finished to
// `unfinished`; the region ends when that is zero. So a worker that is asleep, or was put aside by the system, holds up nobody.
//
// Sleeping. A worker counts itself in `sleepers` and then looks at `remaining` once more; the caller stores `remaining` and then
// looks at `sleepers`. All four are sequentially consistent, so one of the two sees the other, and no wake-up is lost. The same
// holds for the caller with `caller_sleeps` and `unfinished`.
struct ThreadPool::State {
  // One cache line: a claim brings the whole job with it.
  alignas(kLine) std::atomic<std::int64_t> remaining{0};
  std::int64_t tasks = 0;
  Task task = nullptr;
  void* context = nullptr;

  alignas(kLine) std::atomic<std::int64_t> unfinished{0};
  std::atomic<bool> caller_sleeps{false};
  std::atomic<std::uint32_t> join_signal{0};

  alignas(kLine) std::atomic<int> sleepers{0};
  std::atomic<std::uint32_t> wake_signal{0};
  std::atomic<bool> stopping{false};

  alignas(kLine) std::atomic<bool> in_region{false};
  std::vector<std::thread> workers;

  std::int64_t claim_and_run(int worker) noexcept;
  void report(std::int64_t finished) noexcept;
  bool worth_a_look() const noexcept {
    return remaining.load(std::memory_order_relaxed) > 0 || stopping.load(std::memory_order_relaxed);
  }
  void sleep() noexcept;
  void wake() noexcept;
  void join() noexcept;
  void work(int worker) noexcept;
  void stop() noexcept;
};

// Runs tasks until none is left to claim; says how many it ran.
std::int64_t ThreadPool::State::claim_and_run(int worker) noexcept {
  std::int64_t finished = 0;
  while (remaining.load(std::memory_order_relaxed) > 0) {
    const std::int64_t left = remaining.fetch_sub(1, std::memory_order_acquire);
    if (left <= 0) break;  // someone was faster; the next region stores the counter anew
    task(context, tasks - left, worker);
    ++finished;
  }
  return finished;
}

void ThreadPool::State::report(std::int64_t finished) noexcept {
  if (unfinished.fetch_sub(finished, std::memory_order_seq_cst) != finished) return;
  if (!caller_sleeps.load(std::memory_order_seq_cst)) return;
  join_signal.fetch_add(1, std::memory_order_release);
  join_signal.notify_one();
}

void ThreadPool::State::sleep() noexcept {
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = wake_signal.load(std::memory_order_seq_cst);
  if (remaining.load(std::memory_order_seq_cst) <= 0 && !stopping.load(std::memory_order_seq_cst)) wake_signal.wait(seen);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadPool::State::wake() noexcept {
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  wake_signal.fetch_add(1, std::memory_order_seq_cst);
  wake_signal.notify_all();
}

void ThreadPool::State::join() noexcept {
  const auto done = [this]() noexcept { return unfinished.load(std::memory_order_acquire) == 0; };
  if (done() || spin_until(kJoinSpin, done)) return;
  caller_sleeps.store(true, std::memory_order_seq_cst);
  while (true) {
    const std::uint32_t seen = join_signal.load(std::memory_order_acquire);
    if (unfinished.load(std::memory_order_seq_cst) == 0) break;
    join_signal.wait(seen);
  }
  caller_sleeps.store(false, std::memory_order_relaxed);
}

void ThreadPool::State::work(int worker) noexcept {
  while (!stopping.load(std::memory_order_relaxed)) {
    if (!spin_until(kWorkerSpin, [this]() noexcept { return worth_a_look(); })) {
      sleep();
      continue;
    }
    if (const std::int64_t finished = claim_and_run(worker); finished != 0) report(finished);
  }
}

void ThreadPool::State::stop() noexcept {
  stopping.store(true, std::memory_order_seq_cst);
  wake();
  for (std::thread& thread : workers) thread.join();
  workers.clear();
}

ThreadPool::ThreadPool(int threads, Limit limit) : state_(std::make_unique<State>()) {
  const int usable = usable_threads();
  const int size = limit == Limit::none ? std::max(1, threads) : threads <= 0 ? usable : std::min(threads, usable);
  const std::vector<int> cpus = allowed_cpus();
  const bool pin = cpus.size() == static_cast<std::size_t>(size);
  const SignalsBlocked inherited_by_workers;
  try {
    for (int i = 1; i < size; ++i) {
      const int cpu = pin ? cpus[static_cast<std::size_t>(i)] : -1;
      state_->workers.emplace_back([state = state_.get(), i, cpu]() noexcept {
        pthread_setname_np(pthread_self(), "conclave-pool");
        if (cpu >= 0) pin_this_thread(cpu);
        state->work(i);
      });
    }
  } catch (const std::system_error& e) {
    const std::size_t made = state_->workers.size();
    state_->stop();
    throw Error(Errc::device, fmt::format("the system gave {} of {} threads ({}); use --threads or raise the limit of processes",
                                          made + 1, size, e.what()));
  }
}

ThreadPool::~ThreadPool() { state_->stop(); }

int ThreadPool::size() const noexcept { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run(std::int64_t tasks, Task task, void* context) noexcept {
  State& s = *state_;
  CONCLAVE_CHECK(!s.in_region.load(std::memory_order_relaxed), "for_each within for_each of one pool, or two callers at once");
  s.in_region.store(true, std::memory_order_relaxed);
  if (s.workers.empty() || tasks <= 1) {
    for (std::int64_t i = 0; i < tasks; ++i) task(context, i, 0);
  } else {
    s.tasks = tasks;
    s.task = task;
    s.context = context;
    s.unfinished.store(tasks, std::memory_order_relaxed);
    s.remaining.store(tasks - 1, std::memory_order_seq_cst);  // task 0 is the caller's own
    s.wake();
    task(context, 0, 0);
    s.report(1 + s.claim_and_run(0));
    s.join();
  }
  s.in_region.store(false, std::memory_order_relaxed);
}

}  // namespace conclave
