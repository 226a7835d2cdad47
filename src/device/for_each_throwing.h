#pragma once
// ThreadPool::for_each for set-up code, whose tasks may throw.
#include <cstdint>
#include <exception>
#include <mutex>

#include "device/thread_pool.h"

namespace conclave {

// Calls body(task, worker) as ThreadPool::for_each does. Every task runs, whatever the others do; then the exception of the first
// task (by number, so it does not depend on the threads) that threw one is thrown again.
template <class Body>
void for_each_throwing(ThreadPool& pool, std::int64_t tasks, Body&& body) {
  std::mutex mutex;
  std::int64_t failed = tasks;
  std::exception_ptr error;
  pool.for_each(tasks, [&](std::int64_t task, int worker) noexcept {
    try {
      body(task, worker);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (task >= failed) return;
      failed = task;
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace conclave
