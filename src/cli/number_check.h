#pragma once
// What an option's value must be, said in words when it is not.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace conclave::cli {

// Decimal digits, with a minus where `low` allows one. For transform(), not check(): the parser itself would take 010 for 8 and
// 2^64 for the largest number it knows.
CLI::Validator whole_number(std::int64_t low, std::int64_t high = std::numeric_limits<std::int32_t>::max());

// A decimal number; never NaN or infinity.
CLI::Validator real_number(double low, double high);

// Not "", which is what a variable of the shell that is not set leaves of an option.
CLI::Validator some_text();

}  // namespace conclave::cli
