#pragma once
// A line on a terminal's stderr with share, speed and time left, which count from the first call on; silent elsewhere, and for work
// that ends within half a second.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace conclave::cli {

class ProgressBar {
 public:
  enum class Unit { bytes, runs };  // what done and total count

  explicit ProgressBar(std::string label, Unit unit = Unit::bytes);
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  Unit unit_;
  struct Begun {
    Clock::time_point at;
    std::int64_t done;
  };
  std::optional<Begun> begun_;
  Clock::time_point next_;  // when to draw again
  bool terminal_, drawn_ = false;
};

}  // namespace conclave::cli
