#include "engine/output_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace conclave {
namespace {

void push_token(OutputQueue& queue, std::int32_t id, std::string_view text) {
  queue.push({.token = {id, -0.5f}, .top = {}, .text = text});
  queue.wake();
}

TEST(OutputQueue, GivesBackWhatWasPushed) {
  OutputQueue queue;
  EXPECT_FALSE(queue.try_read());
  const TokenLogprob top[] = {{3, -0.1f}, {9, -2.0f}};
  queue.push({.kind = OutputRecord::Kind::prompt_logprob, .token = {1, -1.0f}, .top = top, .with_logprob = true, .text = {}});
  queue.push({.kind = OutputRecord::Kind::prompt_logprob, .token = {2, -3.0f}, .top = {}, .with_logprob = true, .text = {}});
  queue.push({.token = {3, -0.1f}, .top = top, .with_logprob = true, .text = "three"});
  push_token(queue, 4, "");
  queue.finish({FinishReason::length, 7, {2, 2}, {}, {}});

  auto prompt = std::get<Delta>(queue.read());
  ASSERT_EQ(prompt.prompt_logprobs.size(), 2u);
  EXPECT_EQ(prompt.prompt_logprobs[0].token.id, 1);
  ASSERT_EQ(prompt.prompt_logprobs[0].top.size(), 2u);
  EXPECT_EQ(prompt.prompt_logprobs[0].top[1].id, 9);
  EXPECT_EQ(prompt.prompt_logprobs[1].token.logprob, -3.0f);
  EXPECT_TRUE(prompt.tokens.empty());

  auto three = std::get<Delta>(queue.read());
  EXPECT_EQ(three.text, "three");
  EXPECT_EQ(three.tokens, std::vector<std::int32_t>{3});
  ASSERT_EQ(three.logprobs.size(), 1u);
  EXPECT_EQ(three.logprobs[0].token.logprob, -0.1f);
  ASSERT_EQ(three.logprobs[0].top.size(), 2u);

  auto four = std::get<Delta>(queue.read());
  EXPECT_EQ(four.text, "");
  EXPECT_TRUE(four.logprobs.empty());
  for (int i = 0; i < 2; ++i) {
    auto done = std::get<Done>(queue.read());
    EXPECT_EQ(done.reason, FinishReason::length);
    EXPECT_EQ(std::get<std::int32_t>(done.stop_reason), 7);
  }
}

TEST(OutputQueue, HoldsTextsLargerThanABlock) {
  OutputQueue queue;
  const std::string large(100'000, 'x');
  push_token(queue, 1, "a");
  push_token(queue, 2, large);
  push_token(queue, 3, "b");
  EXPECT_EQ(std::get<Delta>(queue.read()).text, "a");
  EXPECT_EQ(std::get<Delta>(queue.read()).text, large);
  EXPECT_EQ(std::get<Delta>(queue.read()).text, "b");
  EXPECT_FALSE(queue.try_read());
}

// A fast and a slow reader; texts of many lengths, so that records end at every place of a block.
TEST(OutputQueue, CarriesEverythingInOrderBetweenTwoThreads) {
  constexpr std::int32_t kTokens = 20000;
  const std::string letters(300, 'y');
  for (const bool slow : {false, true}) {
    OutputQueue queue;
    std::thread writer([&] {
      for (std::int32_t i = 0; i < kTokens; ++i)
        push_token(queue, i, std::string_view(letters).substr(0, static_cast<std::size_t>(i * 7 % 301)));
      queue.finish({});
    });
    std::int32_t next = 0;
    for (auto event = queue.read(); !std::holds_alternative<Done>(event); event = queue.read()) {
      const auto& delta = std::get<Delta>(event);
      ASSERT_EQ(delta.tokens.at(0), next);
      ASSERT_EQ(delta.text.size(), static_cast<std::size_t>(next * 7 % 301));
      ++next;
      if (slow && next % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    writer.join();
    EXPECT_EQ(next, kTokens);
  }
}

}  // namespace
}  // namespace conclave
