// What a parallel region costs: fork and join with nothing to do, and with tasks of a known length.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

#include "device/thread_pool.h"

namespace {

using conclave::ThreadPool;

// One empty task per thread: the workers still spin when the next region begins.
void empty_region(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) pool.for_each(pool.size(), [](std::int64_t, int) noexcept {});
  state.counters["threads"] = pool.size();
}
BENCHMARK(empty_region)->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Arg(16)->UseRealTime();

// The price of claiming: many empty tasks.
void empty_task(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  constexpr std::int64_t kTasks = 1024;
  for (auto _ : state) pool.for_each(kTasks, [](std::int64_t, int) noexcept {});
  state.SetItemsProcessed(state.iterations() * kTasks);
}
BENCHMARK(empty_task)->Arg(1)->Arg(2)->Arg(8)->UseRealTime();

void spin_for(std::chrono::nanoseconds length) noexcept {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// 16 tasks of 2 us: 32 us of work; what is beyond 32 / threads is overhead and lost balance.
void short_tasks(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) pool.for_each(16, [](std::int64_t, int) noexcept { spin_for(std::chrono::microseconds(2)); });
}
BENCHMARK(short_tasks)->Arg(1)->Arg(2)->Arg(8)->UseRealTime();

// The caller is busy alone for longer than the workers spin: each region wakes them from sleep.
void sleeping_workers(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    spin_for(std::chrono::microseconds(400));
    state.ResumeTiming();
    pool.for_each(pool.size(), [](std::int64_t, int) noexcept {});
  }
}
BENCHMARK(sleeping_workers)->Arg(2)->Arg(8)->UseRealTime()->Iterations(2000);

}  // namespace
