#include "cli/number_check.h"

#include <fmt/format.h>

#include <charconv>

#include "base/in_quotes.h"

namespace conclave::cli {
namespace {

// `shown` is what --help says of the range.
template <class Number>
CLI::Validator number(const char* kind, Number low, Number high, std::string shown) {
  const std::string range = fmt::format("{} to {}", low, high);
  const auto problem = [=](std::string& text) -> std::string {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [rest, status] = std::from_chars(text.data(), end, value);
    if (status != std::errc{} || rest != end || !(value >= low && value <= high))
      return fmt::format("expected a {} from {}, found {}", kind, range, in_quotes(text));
    text = fmt::format("{}", value);
    return {};
  };
  return CLI::Validator(problem, std::move(shown), "number");
}

}  // namespace

CLI::Validator whole_number(std::int64_t low, std::int64_t high) {
  const bool any = high == std::numeric_limits<std::int64_t>::max();
  const bool bounded = high < std::numeric_limits<std::int32_t>::max();
  return number("whole number", low, high,
                any       ? ""
                : bounded ? fmt::format("{} to {}", low, high)
                          : fmt::format("{} or more", low));
}

CLI::Validator real_number(double low, double high) { return number("number", low, high, fmt::format("{} to {}", low, high)); }

CLI::Validator some_text() {
  const auto problem = [](std::string& text) -> std::string {
    return text.empty() ? "expected a value, found an empty text; leave the option out instead" : "";
  };
  return CLI::Validator(problem, "", "some text");
}

}  // namespace conclave::cli
