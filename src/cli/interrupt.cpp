#include "cli/interrupt.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace conclave::cli {
namespace {

std::atomic<int> count{0};
std::atomic<bool> end{false};
std::atomic<int> wake{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  if (number == SIGTERM) end = true;
  if (++count >= 3) std::_Exit(130);
  const int error = errno;
  const std::uint64_t one = 1;
  if (write(wake, &one, sizeof(one)) < 0) {  // it is full: whoever waits is woken already
  }
  errno = error;
}

}  // namespace

void count_interrupts() {
  if (wake < 0) wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART: a call that waits returns
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int interrupts() noexcept { return count.load(std::memory_order_relaxed); }
bool told_to_end() noexcept { return end.load(std::memory_order_relaxed); }
int interrupt_event() noexcept { return wake; }
int take_interrupts() noexcept { return count.exchange(0, std::memory_order_relaxed); }
void clear_interrupt_event() noexcept {
  std::uint64_t events = 0;
  if (read(wake, &events, sizeof(events)) < 0) {  // it is clear
  }
}

}  // namespace conclave::cli
