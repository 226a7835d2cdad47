#include "hub/patience.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "conclave/error.h"
#include "hub/shown.h"

namespace conclave {
namespace {

constexpr std::chrono::milliseconds kLongestPause{30'000};
constexpr int kUnreachedAttempts = 2;  // a host that is not found twice is misspelt, or there is no network

}  // namespace

bool worth_retrying(const HttpReply& reply) noexcept {
  if (!reply.failure.empty()) return !reply.lasting;
  if (reply.elsewhere && (reply.status == 401 || reply.status == 403)) return true;  // a signed address that has run out
  return reply.status == 408 || reply.status == 429 || reply.status == 500 || (reply.status >= 502 && reply.status <= 504);
}

std::string outcome_of(const HttpReply& reply) {
  if (!reply.failure.empty()) return reply.failure;
  return reply.good() ? "the answer ended too early" : fmt::format("status {}", reply.status);
}

Patience::Patience(const HubOptions& options, const StopFlag& stop, std::string what)
    : options_(options), stop_(stop), what_(std::move(what)) {}

void Patience::wait_after(const HttpReply& reply) {
  const std::string outcome = outcome_of(reply);
  const bool hopeless = reply.unreached && !progressed_;
  const int attempts = hopeless ? std::min(kUnreachedAttempts, options_.attempts) : options_.attempts;
  if (++failures_ >= attempts)
    throw Error(Errc::busy, fmt::format("{} failed{}: {} ({})", what_,
                                        failures_ == 1 ? "" : fmt::format(" {} times in a row, the last time", failures_), outcome,
                                        shown_address(reply.url)));
  std::chrono::milliseconds pause = options_.first_pause;
  for (int i = 1; i < failures_ && pause < kLongestPause; ++i) pause *= 2;
  pause = std::min(pause, kLongestPause);
  if (reply.retry_after) {
    if (*reply.retry_after > options_.longest_wait)
      throw Error(Errc::busy, fmt::format("{}: the server is busy ({}) and asks to be left alone for {} s; please try again then",
                                          what_, outcome, reply.retry_after->count()));
    pause = *reply.retry_after;
  }
  log::warning("{}: {}; trying again in {:.1f} s", what_, outcome, static_cast<double>(pause.count()) / 1000);
  stop_.sleep(pause);
}

}  // namespace conclave
