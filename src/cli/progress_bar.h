#pragma once
// A line on a terminal's stderr with share, speed and time left; silent elsewhere, and for work that ends within half a second.
#include <chrono>
#include <cstdint>
#include <string>

namespace conclave::cli {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  Clock::time_point start_, last_;
  bool terminal_, drawn_ = false;
};

}  // namespace conclave::cli
