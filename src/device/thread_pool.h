#pragma once
// Fork-join over a fixed set of threads: the caller works too, workers spin briefly between regions and then park.
// Tasks are claimed one by one from a shared counter, so a thread that the machine slows down takes fewer of them, and one that
// does not come at all is not waited for.
#include <cstdint>
#include <memory>
#include <type_traits>

namespace conclave {

class ThreadPool {
 public:
  enum class Limit { usable_threads, none };

  // `threads` counts the caller; it is lowered to usable_threads(), which 0 means too. Limit::none takes the number as it is:
  // for tests, more threads than CPUs only cost time. Workers are pinned, one to a CPU, when the pool fills all allowed CPUs;
  // with fewer threads the kernel places them, and the caller is never pinned. Throws Error{device} when threads cannot be made.
  explicit ThreadPool(int threads = 0, Limit = Limit::usable_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept;

  // Calls body(task, worker) for every task in [0, tasks), each once, on some thread; worker is in [0, size()), so a body can
  // own per-worker scratch. Returns when all are done; what tasks wrote is visible to the caller. The body must not throw and
  // must not call for_each of the same pool. One caller at a time. Allocates nothing.
  template <class Body>
  void for_each(std::int64_t tasks, Body&& body) noexcept {
    static_assert(std::is_nothrow_invocable_v<Body&, std::int64_t, int>, "the body of a parallel region must be noexcept");
    using Plain = std::remove_reference_t<Body>;
    run(
        tasks, [](void* context, std::int64_t task, int worker) noexcept { (*static_cast<Plain*>(context))(task, worker); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Task = void (*)(void* context, std::int64_t task, int worker) noexcept;
  void run(std::int64_t tasks, Task, void* context) noexcept;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace conclave
