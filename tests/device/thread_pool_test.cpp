#include "device/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "device/cpu_features.h"

namespace conclave {
namespace {

using Limit = ThreadPool::Limit;

class ThreadPoolOfSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolOfSize, testing::Range(1, 9));

TEST_P(ThreadPoolOfSize, RunsEveryTaskOnceOnAWorkerOfItsOwn) {
  ThreadPool pool(GetParam(), Limit::none);
  ASSERT_EQ(pool.size(), GetParam());
  for (std::int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 100, 1000}) {
    std::vector<int> runs(static_cast<std::size_t>(tasks), 0);  // not atomic: a task that ran twice would be a race
    std::vector<std::atomic<int>> inside(static_cast<std::size_t>(pool.size()));
    std::atomic<bool> clash{false};
    pool.for_each(tasks, [&](std::int64_t task, int worker) noexcept {
      if (worker < 0 || worker >= pool.size() || inside[static_cast<std::size_t>(worker)].fetch_add(1) != 0) clash = true;
      ++runs[static_cast<std::size_t>(task)];
      inside[static_cast<std::size_t>(worker)].fetch_sub(1);
    });
    EXPECT_FALSE(clash.load());
    EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(tasks), 1));
  }
}

TEST_P(ThreadPoolOfSize, ManySmallRegionsSeeOneAnother) {
  ThreadPool pool(GetParam(), Limit::none);
  const std::int64_t regions = GetParam() <= usable_threads() ? 100'000 : 2'000;  // a thread without a CPU costs a time slice
  std::vector<std::int64_t> cells(5, 0);
  std::int64_t expected = 0;
  for (std::int64_t region = 0; region < regions; ++region) {
    const std::int64_t base = std::accumulate(cells.begin(), cells.end(), std::int64_t{0});
    ASSERT_EQ(base, expected);
    // Plain reads and writes: what the caller and other workers wrote before must be visible here.
    pool.for_each(5,
                  [&, region](std::int64_t task, int) noexcept { cells[static_cast<std::size_t>(task)] += task + (region & 1); });
    expected += 10 + 5 * (region & 1);
  }
}

TEST_P(ThreadPoolOfSize, WakesAfterSleeping) {
  ThreadPool pool(GetParam(), Limit::none);
  std::atomic<std::int64_t> sum{0};
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // longer than workers spin
    pool.for_each(64, [&](std::int64_t task, int) noexcept { sum += task; });
  }
  EXPECT_EQ(sum.load(), 20 * 64 * 63 / 2);
}

TEST_P(ThreadPoolOfSize, CallerSleepsUntilALongTaskEnds) {
  ThreadPool pool(GetParam(), Limit::none);
  std::atomic<int> done{0};
  pool.for_each(pool.size(), [&](std::int64_t task, int) noexcept {
    if (task != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++done;
  });
  EXPECT_EQ(done.load(), pool.size());
}

TEST(ThreadPool, IsNeverLargerThanTheProcessMayUse) {
  EXPECT_EQ(ThreadPool(0).size(), usable_threads());
  EXPECT_EQ(ThreadPool(1 << 20).size(), usable_threads());
  EXPECT_EQ(ThreadPool(1).size(), 1);
  EXPECT_EQ(ThreadPool(-3).size(), usable_threads());
}

TEST(ThreadPool, OfOneRunsInOrderOnTheCaller) {
  ThreadPool pool(1);
  const std::thread::id self = std::this_thread::get_id();
  std::vector<std::int64_t> order;
  order.reserve(4);
  pool.for_each(4, [&](std::int64_t task, int) noexcept {
    if (std::this_thread::get_id() == self) order.push_back(task);
  });
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(ThreadPool, GoesOnWhenAnotherThreadTakesACpu) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < usable_threads(); ++i)
    busy.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  ThreadPool pool(std::max(2, usable_threads()), Limit::none);
  std::atomic<std::int64_t> sum{0};
  for (int region = 0; region < 500; ++region) pool.for_each(8, [&](std::int64_t task, int) noexcept { sum += task; });
  stop = true;
  for (std::thread& thread : busy) thread.join();
  EXPECT_EQ(sum.load(), 500 * 28);
}

// A worker that is held up takes no tasks, and the region does not wait for it: the caller does them all.
TEST(ThreadPool, DoesNotWaitForAWorkerThatHasNothing) {
  ThreadPool pool(2, Limit::none);
  int ran = 0;
  pool.for_each(1, [&](std::int64_t, int) noexcept { ++ran; });
  EXPECT_EQ(ran, 1);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) pool.for_each(2, [](std::int64_t, int) noexcept {});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(ThreadPool, PoolsCanBeMadeAndDroppedAtOnce) {
  std::int64_t ran = 0;
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(3, Limit::none);
    if (i % 2 == 0) pool.for_each(1, [&](std::int64_t, int) noexcept { ++ran; });
  }
  EXPECT_EQ(ran, 50);
}

TEST(ThreadPool, LeavesTheCallersAffinityAlone) {
  const std::vector<int> before = allowed_cpus();
  ThreadPool pool(0);
  pool.for_each(100, [](std::int64_t, int) noexcept {});
  EXPECT_EQ(allowed_cpus(), before);
}

using ThreadPoolDeathTest = testing::Test;
TEST(ThreadPoolDeathTest, RefusesARegionWithinARegion) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (int size : {1, 2}) {
    EXPECT_DEATH(
        {
          ThreadPool pool(size, Limit::none);
          pool.for_each(4, [&](std::int64_t, int) noexcept { pool.for_each(4, [](std::int64_t, int) noexcept {}); });
        },
        "in_region");
  }
}

}  // namespace
}  // namespace conclave
