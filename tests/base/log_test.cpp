#include "base/log.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

TEST(Log, LevelsDecideWhatIsWrittenToStderr) {
  set_log_level(LogLevel::warning);
  EXPECT_TRUE(log_enabled(LogLevel::error));
  EXPECT_TRUE(log_enabled(LogLevel::warning));
  EXPECT_FALSE(log_enabled(LogLevel::info));
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log::info("hidden {}", 1);
  log::warning("seen {}", 2);
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_NE(written.find("warning seen 2"), std::string::npos) << written;
  EXPECT_EQ(written.find("hidden"), std::string::npos);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");  // stdout carries answers only
}

TEST(Log, OffIsOff) {
  set_log_level(LogLevel::off);
  EXPECT_FALSE(log_enabled(LogLevel::error));
  set_log_level(LogLevel::warning);
}

}  // namespace
}  // namespace conclave
