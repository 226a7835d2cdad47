#include "cli/interrupt.h"

#include <csignal>
#include <cstdlib>

#include <atomic>

namespace conclave::cli {
namespace {

std::atomic<int> count{0};
std::atomic<bool> end{false};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  if (number == SIGTERM) end = true;
  if (++count >= 3) std::_Exit(130);
}

}  // namespace

void count_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART: a read that waits returns
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int interrupts() noexcept { return count.load(std::memory_order_relaxed); }
bool told_to_end() noexcept { return end.load(std::memory_order_relaxed); }
void forget_interrupts() noexcept { count.store(0, std::memory_order_relaxed); }

}  // namespace conclave::cli
