#include "device/for_each_throwing.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

namespace conclave {
namespace {

TEST(ForEachThrowing, RunsEveryTaskAndThrowsTheErrorOfTheFirst) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads, ThreadPool::Limit::none);
    std::array<std::atomic<int>, 200> runs{};
    std::string caught;
    try {
      for_each_throwing(pool, std::ssize(runs), [&](std::int64_t task, int) {
        ++runs[static_cast<std::size_t>(task)];
        if (task % 50 == 17) throw std::runtime_error("task " + std::to_string(task));
      });
    } catch (const std::runtime_error& e) {
      caught = e.what();
    }
    EXPECT_EQ(caught, "task 17") << threads << " threads";
    for (const auto& count : runs) EXPECT_EQ(count, 1) << threads << " threads";
  }
}

TEST(ForEachThrowing, ThePoolWorksOnAfterAnError) {
  ThreadPool pool(3, ThreadPool::Limit::none);
  EXPECT_THROW(for_each_throwing(pool, 10, [](std::int64_t, int) { throw std::runtime_error("no"); }), std::runtime_error);
  std::atomic<std::int64_t> sum{0};
  EXPECT_NO_THROW(for_each_throwing(pool, 10, [&](std::int64_t task, int) { sum += task; }));
  EXPECT_EQ(sum, 45);
}

}  // namespace
}  // namespace conclave
