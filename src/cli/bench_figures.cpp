#include "cli/bench_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "cli/interrupt.h"
#include "conclave/error.h"
#include "io/json.h"

namespace conclave::cli {

Spread spread_of(std::vector<double> values) {
  CONCLAVE_CHECK(!values.empty());
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

Json json_of(const Spread& s) { return {{"median", s.median}, {"min", s.min}, {"max", s.max}}; }

void stop_if_interrupted() {
  if (interrupts() > 0) throw Error(Errc::cancelled, "interrupted; nothing was measured to its end");
}

Limits::Limits(int threads) : device_(open_cpu_device(threads)), meter_(*device_) {}

void Limits::take() {
  const LimitSample sample = meter_.sample();
  read_.push_back(sample.read);
  floats_.push_back(sample.floats);
  bytes_.push_back(sample.bytes);
}

Json Limits::json() const {
  return {{"memory_read_bytes_per_second", json_of(read())},
          {"float32_operations_per_second", json_of(floats())},
          {"int8_operations_per_second", json_of(bytes())}};
}

namespace {
Spread scaled(const Spread& s, double factor) { return {s.median * factor, s.min * factor, s.max * factor}; }
}  // namespace

std::string Limits::text() const {
  return table_line("limit: memory read, GB/s", scaled(read(), 1e-9)) +
         table_line("limit: float32 multiply-adds, GFLOP/s", scaled(floats(), 1e-9)) +
         table_line("limit: 8-bit products, GOP/s", scaled(bytes(), 1e-9));
}

std::string table_head() { return fmt::format("{:<40}{:>12}{:>12}{:>12}\n", "", "median", "min", "max"); }

std::string table_line(std::string_view what, const Spread& s) {
  const auto number = [](double v) { return fmt::format("{:.{}f}", v, v < 1 ? 3 : v < 100 ? 2 : 0); };
  return fmt::format("{:<40}{:>12}{:>12}{:>12}\n", what, number(s.median), number(s.min), number(s.max));
}

std::string read_words(double per_second, const Limits& limits) {
  return fmt::format("{:.1f} GB/s, {:.0f} % of the memory limit", per_second / 1e9, 100 * limits.share_of_read(per_second));
}

std::string compute_words(double per_second, const Limits& limits) {
  return fmt::format("{:.1f} GOP/s, {:.0f} % of the limit of float32, {:.0f} % of that of 8-bit products", per_second / 1e9,
                     100 * per_second / limits.floats().median, 100 * per_second / limits.bytes().median);
}

Json read_json(double bytes, double per_second, const Limits& limits) {
  return {{"bytes", bytes}, {"bytes_per_second", per_second}, {"share_of_memory_limit", limits.share_of_read(per_second)}};
}

Json compute_json(double operations, double per_second, const Limits& limits) {
  return {{"operations", operations},
          {"operations_per_second", per_second},
          {"share_of_float32_limit", per_second / limits.floats().median},
          {"share_of_int8_limit", per_second / limits.bytes().median}};
}

}  // namespace conclave::cli
