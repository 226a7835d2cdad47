#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace conclave::cli {

ProgressBar::ProgressBar(std::string label, Unit unit)
    : label_(std::move(label)), unit_(unit), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  if (!terminal_ || total <= 0) return;
  const auto now = Clock::now();
  if (!begun_) {
    begun_ = {now, done};
    next_ = now + std::chrono::milliseconds(500);
  }
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  constexpr int kWidth = 30;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double speed = static_cast<double>(done - begun_->done) / std::chrono::duration<double>(now - begun_->at).count();
  const int filled = static_cast<int>(share * kWidth);
  const std::string pace =
      unit_ == Unit::bytes ? fmt::format("{:.2f} GB/s", speed / 1e9) : fmt::format("{} of {} runs", done, total);
  fmt::print(stderr, "\r\033[K{} [{:=<{}}{:<{}}] {:3.0f} %  {}  {:.0f} s left", label_, "", filled, "", kWidth - filled,
             100 * share, pace, speed > 0 ? static_cast<double>(total - done) / speed : 0.0);
}

}  // namespace conclave::cli
