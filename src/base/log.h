#pragma once
// One log to stderr, so that stdout carries answers only. Level by --log-level or CONCLAVE_LOG_LEVEL.
#include <fmt/core.h>

#include <string>
#include <utility>

namespace conclave {

enum class LogLevel { debug, info, warning, error, off };

void set_log_level(LogLevel) noexcept;
bool log_enabled(LogLevel) noexcept;
void write_log(LogLevel, const std::string& line);

namespace log {
template <class... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(LogLevel::debug)) write_log(LogLevel::debug, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(LogLevel::info)) write_log(LogLevel::info, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(LogLevel::warning)) write_log(LogLevel::warning, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(LogLevel::error)) write_log(LogLevel::error, fmt::format(text, std::forward<Args>(args)...));
}
}  // namespace log

}  // namespace conclave
