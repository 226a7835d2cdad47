#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace conclave::cli {

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      start_(Clock::now()),
      last_(start_ + std::chrono::milliseconds(400)),
      terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  const auto now = Clock::now();
  if (!terminal_ || total <= 0 || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  constexpr int kWidth = 30;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const int filled = static_cast<int>(share * kWidth);
  fmt::print(stderr, "\r\033[K{} [{:=<{}}{:<{}}] {:3.0f} %  {:.2f} GB/s  {:.0f} s left", label_, "", filled, "", kWidth - filled,
             100 * share, static_cast<double>(done) / seconds / 1e9, share > 0 ? seconds * (1 - share) / share : 0.0);
}

}  // namespace conclave::cli
