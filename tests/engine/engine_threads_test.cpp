// The engine on its own thread, with callers on others; worth most under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/engine/fake_engine.h"

namespace conclave::testing {
namespace {

constexpr std::int32_t kVocab = 50;

TEST(EngineThreads, ManyCallersSubmitReadAndCancelAtOnce) {
  EngineOptions options = small_options();
  options.max_model_len = 100;
  options.kv_cache_tokens = 200;
  options.max_waiting = 12;
  FakeEngine e(std::make_unique<FakeModel>(kVocab), options);
  std::atomic<int> right{0}, wrong{0}, cut{0}, refused{0};
  {
    std::jthread loop([&](std::stop_token stop) { e.engine->run(stop); });
    std::vector<std::jthread> callers;
    for (unsigned caller = 0; caller < 6; ++caller) {
      callers.emplace_back([&, caller] {
        std::mt19937 random(caller);
        for (int i = 0; i < 40; ++i) {
          const std::int32_t length = std::uniform_int_distribution(1, 40)(random);
          std::vector<std::int32_t> prompt(static_cast<std::size_t>(length), static_cast<std::int32_t>(caller));
          auto result = e.engine->submit(ids_request(prompt, 20));
          if (std::holds_alternative<Error>(result)) {
            ++refused;
            std::this_thread::yield();
            continue;
          }
          auto stream = std::get<std::unique_ptr<TokenStream>>(std::move(result));
          if (i % 5 == 4) {
            stream->next();
            stream->cancel();
            ++(read_all(*stream).done->reason == FinishReason::cancelled ? cut : right);
          } else if (i % 5 == 3) {
            ++cut;  // leaves without reading
          } else {
            ++(read_all(*stream).tokens == greedy_answer(prompt, 20, kVocab) ? right : wrong);
          }
          e.engine->status();
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(right, 0);
  EXPECT_EQ(right + cut + refused, 6 * 40);
  EXPECT_EQ(e.engine->status().running, 0);
  EXPECT_EQ(e.engine->status().kv_pages_free, e.engine->status().kv_pages_total);
}

TEST(EngineThreads, StoppingEndsWhatRunsAndWakesWhoWaits) {
  FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options());
  e.model->before_step = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  auto stream = e.submit(ids_request({1}, 250));
  std::jthread loop([&](std::stop_token stop) { e.engine->run(stop); });
  std::jthread reader([&] { EXPECT_EQ(read_all(*stream).done->reason, FinishReason::cancelled); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  loop.request_stop();
  loop.join();
  reader.join();
}

TEST(EngineThreads, AnIdleEngineSleepsAndWakesForARequest) {
  FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options());
  std::jthread loop([&](std::stop_token stop) { e.engine->run(stop); });
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto stream = e.submit(ids_request({1, i}, 3));
    EXPECT_EQ(read_all(*stream).tokens, greedy_answer({1, i}, 3, kVocab));
  }
  const std::int64_t steps = e.engine->status().steps;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(e.engine->status().steps, steps);
}

}  // namespace
}  // namespace conclave::testing
