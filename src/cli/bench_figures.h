#pragma once
// What the three kinds of `conclave bench` share: figures of repeated runs, the machine's limits beside them, and how both are
// shown.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_fwd.h"
#include "ops/cpu/limit_meter.h"

namespace conclave::cli {

// Of several runs. The median, since one run that a neighbour disturbed says nothing about ours.
struct Spread {
  double median = 0.0, min = 0.0, max = 0.0;
};
Spread spread_of(std::vector<double> values);  // at least one
Json json_of(const Spread&);

// Throws Error{cancelled} once there was an interrupt.
void stop_if_interrupted();

// The limits of this machine, one sample beside each run.
class Limits {
 public:
  explicit Limits(int threads);  // as many as what is timed has
  void take();
  Spread read() const { return spread_of(read_); }      // bytes per second
  Spread floats() const { return spread_of(floats_); }  // operations per second
  Spread bytes() const { return spread_of(bytes_); }
  // For "65 % of the memory limit".
  double share_of_read(double bytes_per_second) const { return bytes_per_second / read().median; }
  Json json() const;
  std::string text() const;  // three lines of a Table

 private:
  std::unique_ptr<Device> device_;
  LimitMeter meter_;
  std::vector<double> read_, floats_, bytes_;
};

// Lines of "name, unit      median  min  max".
std::string table_head();
std::string table_line(std::string_view what, const Spread&);

// "12.3 GB/s, 56 % of the memory limit"
std::string read_words(double bytes_per_second, const Limits&);
// "36.0 GOP/s, 33 % of the limit of float32, 16 % of that of 8-bit integers"
std::string compute_words(double operations_per_second, const Limits&);
// The same numbers for scripts.
Json read_json(double bytes, double bytes_per_second, const Limits&);
Json compute_json(double operations, double operations_per_second, const Limits&);

}  // namespace conclave::cli
