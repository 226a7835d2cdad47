// The engine over a fake model: what requests get, alone and together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/engine/fake_engine.h"

namespace conclave::testing {
namespace {

constexpr std::int32_t kVocab = 50;

std::vector<std::int32_t> some_ids(std::mt19937& random, std::int32_t count) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < count; ++i) ids.push_back(std::uniform_int_distribution(0, kVocab - 1)(random));
  return ids;
}

// A request with a bit of everything.
Request varied_request(std::mt19937& random) {
  const auto number = [&](std::int32_t low, std::int32_t high) { return std::uniform_int_distribution(low, high)(random); };
  Request r = ids_request(some_ids(random, number(1, 90)), number(0, 40));
  SamplingParams& s = r.sampling;
  s.seed = number(0, 1000);
  if (number(0, 2) != 0) s.temperature = 0.5 + 0.1 * number(0, 15);
  if (number(0, 2) == 0) s.top_p = 0.8;
  if (number(0, 2) == 0) s.top_k = number(1, 30);
  if (number(0, 3) == 0) s.min_p = 0.1;
  if (number(0, 2) == 0) s.repetition_penalty = 1.2;
  if (number(0, 2) == 0) s.frequency_penalty = 0.3;
  if (number(0, 2) == 0) s.stop_token_ids = {number(0, kVocab - 1)};
  if (number(0, 2) == 0) s.logprobs = number(0, 5);
  if (number(0, 2) == 0) s.prompt_logprobs = number(0, 3);
  s.min_tokens = number(0, std::min(5, *s.max_tokens));
  return r;
}

std::string show(const Answer& a) {
  std::string out;
  const auto add = [&](const TokenLogprobs& t) {
    out += "(" + std::to_string(t.token.id) + " " + std::to_string(t.token.logprob);
    for (const TokenLogprob& o : t.top) out += " " + std::to_string(o.id) + ":" + std::to_string(o.logprob);
    out += ")";
  };
  for (std::int32_t id : a.tokens) out += std::to_string(id) + " ";
  for (const auto& t : a.logprobs) add(t);
  out += "|";
  for (const auto& t : a.prompt_logprobs) add(t);
  if (a.done) out += std::string("| ") + to_string(a.done->reason) + " " + std::to_string(a.done->usage.completion_tokens);
  return out;
}

Answer alone(const Request& request) {
  EngineOptions options = small_options();
  options.max_num_batched_tokens = 256;  // the prompt in one piece
  FakeEngine e(std::make_unique<FakeModel>(kVocab), options);
  auto stream = e.submit(request);
  e.run();
  return read_all(*stream);
}

TEST(Engine, AnswersAsTheModelSays) {
  std::mt19937 random(1);
  for (std::int32_t length : {1, 3, 4, 5, 31, 32, 33, 100}) {
    FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options());
    const auto prompt = some_ids(random, length);
    auto stream = e.submit(ids_request(prompt, 20));
    e.run();
    const Answer a = read_all(*stream);
    EXPECT_EQ(a.tokens, greedy_answer(prompt, 20, kVocab));
    EXPECT_EQ(a.done->reason, FinishReason::length);
    EXPECT_EQ(a.done->usage.prompt_tokens, length);
    EXPECT_EQ(a.done->usage.completion_tokens, 20);
    EXPECT_LE(e.model->most_rows, 32);
    EXPECT_EQ(e.engine->status().kv_pages_free, e.engine->status().kv_pages_total);
  }
}

TEST(Engine, TogetherEveryoneGetsWhatTheyGetAlone) {
  std::mt19937 random(2);
  FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options());
  std::vector<Request> requests;
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (int i = 0; i < 40; ++i) {
    requests.push_back(varied_request(random));
    streams.push_back(e.submit(requests.back()));
    if (i % 3 == 0) e.engine->step();
  }
  e.run();
  for (std::size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(show(read_all(*streams[i])), show(alone(requests[i]))) << "request " << i;
  EXPECT_GT(e.model->mixed_steps, 0);
  EXPECT_EQ(e.engine->status().preemptions, 0);
}

TEST(Engine, PreemptedSequencesContinueAsIfNothingHadHappened) {
  std::mt19937 random(3);
  for (int round = 0; round < 10; ++round) {
    EngineOptions options = small_options();
    options.max_model_len = 132;
    options.kv_cache_tokens = 132 + 8 * round;  // room for one long sequence, sometimes little more
    FakeEngine e(std::make_unique<FakeModel>(kVocab), options);
    std::vector<Request> requests;
    std::vector<std::unique_ptr<TokenStream>> streams;
    for (int i = 0; i < 20; ++i) {
      requests.push_back(varied_request(random));
      streams.push_back(e.submit(requests.back()));
    }
    e.run();
    for (std::size_t i = 0; i < requests.size(); ++i)
      ASSERT_EQ(show(read_all(*streams[i])), show(alone(requests[i]))) << "request " << i;
    EXPECT_GT(e.engine->status().preemptions, 0);
    EXPECT_EQ(e.engine->status().kv_pages_free, e.engine->status().kv_pages_total);
    EXPECT_EQ(e.engine->status().running, 0);
    EXPECT_EQ(e.engine->status().waiting, 0);
  }
}

TEST(Engine, CancellationAtAnyTimeLeavesTheOthersAlone) {
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    EngineOptions options = small_options();
    options.max_model_len = 132;
    options.kv_cache_tokens = 200;
    FakeEngine e(std::make_unique<FakeModel>(kVocab), options);
    std::vector<Request> requests;
    std::vector<std::unique_ptr<TokenStream>> streams;
    std::vector<bool> cancelled(16, false);
    for (int i = 0; i < 16; ++i) {
      requests.push_back(varied_request(random));
      streams.push_back(e.submit(requests.back()));
    }
    for (int step = 0; step < 40; ++step) {
      if (step % 4 == 0) {
        const auto victim = std::uniform_int_distribution<std::size_t>(0, 15)(random);
        if (!streams[victim]) continue;
        if (step % 8 == 0) {
          streams[victim]->cancel();
        } else {
          streams[victim].reset();  // the caller left
        }
        cancelled[victim] = true;
      }
      e.engine->step();
    }
    e.run();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!streams[i]) continue;
      const Answer a = read_all(*streams[i]);
      const Answer whole = alone(requests[i]);
      if (!cancelled[i]) {
        ASSERT_EQ(show(a), show(whole));
      } else if (a.done->reason == FinishReason::cancelled) {  // else it had ended before
        ASSERT_TRUE(std::equal(a.tokens.begin(), a.tokens.end(), whole.tokens.begin()));
      }
    }
    EXPECT_EQ(e.engine->status().kv_pages_free, e.engine->status().kv_pages_total);
    EXPECT_EQ(e.engine->status().waiting, 0);
  }
}

TEST(Engine, SeedsReproduceAndRequestsWithoutOneDiffer) {
  FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options());
  Request r = ids_request({1, 2, 3}, 30);
  r.sampling.temperature = 1.5;
  auto a = e.submit(r), b = e.submit(r);
  r.sampling.seed = 7;
  auto c = e.submit(r), d = e.submit(r);
  e.run();
  EXPECT_NE(read_all(*a).tokens, read_all(*b).tokens);
  EXPECT_EQ(read_all(*c).tokens, read_all(*d).tokens);
}

TEST(Engine, EndTokensEndSilentlyAndStopTokensByName) {
  const std::vector<std::int32_t> prompt{4, 8, 15};
  const auto all = greedy_answer(prompt, 12, kVocab);
  const auto first = [&](std::size_t i) { return std::find(all.begin(), all.end(), all[i]) - all.begin(); };
  const std::int32_t main_end = all[3], other_end = all[6];
  ASSERT_EQ(first(3), 3);
  ASSERT_EQ(first(6), 6);

  auto model = std::make_unique<FakeModel>(kVocab);
  model->config().eos_ids = {main_end, 9999999};
  FakeEngine e(std::move(model), small_options());
  auto plain = e.submit(ids_request(prompt, 12));
  Request ignoring = ids_request(prompt, 12);
  ignoring.sampling.ignore_eos = true;
  auto ignored = e.submit(ignoring);
  ignoring.sampling.stop_token_ids = {other_end};
  auto stopped = e.submit(ignoring);
  e.run();

  const Answer a = read_all(*plain), b = read_all(*ignored), c = read_all(*stopped);
  EXPECT_EQ(a.tokens, std::vector<std::int32_t>(all.begin(), all.begin() + 4));
  EXPECT_EQ(a.done->reason, FinishReason::stop);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(a.done->stop_reason));
  EXPECT_EQ(a.done->usage.completion_tokens, 4);
  EXPECT_EQ(b.tokens, all);
  EXPECT_EQ(b.done->reason, FinishReason::length);
  EXPECT_EQ(c.tokens, std::vector<std::int32_t>(all.begin(), all.begin() + 7));
  EXPECT_EQ(std::get<std::int32_t>(c.done->stop_reason), other_end);
}

TEST(Engine, MinTokensHoldsOffTheEnd) {
  auto model = std::make_unique<FakeModel>(kVocab, [](auto, std::span<float> out) {
    std::fill(out.begin(), out.end(), 0.0f);
    out[5] = 2.0f;  // the end token, always the likeliest
    out[6] = 1.0f;
  });
  model->config().eos_ids = {5};
  FakeEngine e(std::move(model), small_options());
  Request r = ids_request({1}, 10);
  r.sampling.min_tokens = 4;
  auto stream = e.submit(r);
  e.run();
  EXPECT_EQ(read_all(*stream).tokens, (std::vector<std::int32_t>{6, 6, 6, 6, 5}));
}

TEST(Engine, LogprobsAreTheModelsOwn) {
  const std::vector<std::int32_t> prompt{3, 1, 4, 1, 5};
  FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options());
  Request r = ids_request(prompt, 6);
  r.sampling.temperature = 0.01;
  r.sampling.top_k = 1;
  r.sampling.top_p = 0.1;
  r.sampling.repetition_penalty = 1.5;
  r.sampling.logprobs = 5;
  r.sampling.prompt_logprobs = 2;
  auto stream = e.submit(r);
  e.run();
  const Answer a = read_all(*stream);
  ASSERT_EQ(a.logprobs.size(), 6u);
  ASSERT_EQ(a.prompt_logprobs.size(), prompt.size() - 1);

  std::vector<std::int32_t> tokens = prompt;
  tokens.insert(tokens.end(), a.tokens.begin(), a.tokens.end());
  std::vector<float> logits(kVocab);
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    fake_logits(std::span(tokens).first(i), logits);
    double sum = 0.0;
    for (float l : logits) sum += std::exp(double{l});
    const bool in_prompt = i < prompt.size();
    const TokenLogprobs& got = in_prompt ? a.prompt_logprobs[i - 1] : a.logprobs[i - prompt.size()];
    EXPECT_EQ(got.token.id, tokens[i]);
    EXPECT_NEAR(got.token.logprob, double{logits[static_cast<std::size_t>(tokens[i])]} - std::log(sum), 1e-5);
    ASSERT_EQ(got.top.size(), in_prompt ? 2u : 5u);
    EXPECT_EQ(got.top[0].id, std::max_element(logits.begin(), logits.end()) - logits.begin());
    EXPECT_TRUE(std::is_sorted(got.top.begin(), got.top.end(), [](auto& x, auto& y) { return x.logprob > y.logprob; }));
  }
}

TEST(Engine, PromptAloneIsComputedWhenNoTokenIsWanted) {
  FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options());
  Request r = ids_request({3, 1, 4}, 0);
  r.sampling.prompt_logprobs = 0;
  auto stream = e.submit(r);
  e.run();
  const Answer a = read_all(*stream);
  EXPECT_TRUE(a.tokens.empty());
  EXPECT_EQ(a.prompt_logprobs.size(), 2u);
  EXPECT_EQ(a.done->reason, FinishReason::length);
}

TEST(Engine, RefusalsNameEveryProblemAndHurtNobody) {
  EngineOptions options = small_options();
  options.max_model_len = 64;
  FakeEngine e(std::make_unique<FakeModel>(kVocab), options);
  const std::vector<std::int32_t> prompt{1, 2, 3};
  auto running = e.submit(ids_request(prompt, 20));
  e.engine->step();
  Request bad = ids_request({5, 50, -1}, 62);
  bad.sampling.top_p = 3.0;
  const std::string words = e.refusal(bad).what();
  for (const char* part : {"token id 50 is not in the vocabulary [0, 50)", "token id -1", "top_p must be in (0, 1], not 3",
                           "prompt (3 tokens) and answer (62 tokens) must fit into max_model_len (64)"}) {
    EXPECT_NE(words.find(part), std::string::npos) << part << "\nin:\n" << words;
  }
  EXPECT_EQ(e.refusal(bad).code(), Errc::bad_input);
  EXPECT_NE(std::string(e.refusal(ids_request({}, 1)).what()).find("at least one token"), std::string::npos);
  Request text;
  text.prompt = std::string("hello");
  EXPECT_EQ(e.refusal(text).code(), Errc::unsupported);
  Request chat;
  chat.prompt = std::vector<ChatMessage>{{"user", "hello"}};
  EXPECT_EQ(e.refusal(chat).code(), Errc::unsupported);
  e.run();
  EXPECT_EQ(read_all(*running).tokens, greedy_answer(prompt, 20, kVocab));
}

TEST(Engine, LengthsLeftOutAreTheRestOfTheContext) {
  EngineOptions options = small_options();
  options.max_model_len = 40;
  FakeEngine e(std::make_unique<FakeModel>(kVocab), options);
  Request r = ids_request({1, 2, 3}, 0);
  r.sampling.max_tokens.reset();
  auto stream = e.submit(r);
  e.run();
  EXPECT_EQ(read_all(*stream).tokens.size(), 37u);
  EXPECT_NE(std::string(e.refusal(ids_request(std::vector<std::int32_t>(40, 1), 1)).what()).find("max_model_len (40)"),
            std::string::npos);
}

TEST(Engine, AFullQueueRefusesAndRecovers) {
  EngineOptions options = small_options();
  options.max_num_seqs = 2;
  options.max_waiting = 3;
  FakeEngine e(std::make_unique<FakeModel>(kVocab), options);
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(e.submit(ids_request({1, 2}, 5)));
  EXPECT_EQ(e.refusal(ids_request({1}, 1)).code(), Errc::busy);
  e.engine->step();  // two begin
  for (int i = 0; i < 2; ++i) streams.push_back(e.submit(ids_request({1, 2}, 5)));
  EXPECT_EQ(e.refusal(ids_request({1}, 1)).code(), Errc::busy);
  EXPECT_EQ(e.engine->status().waiting, 3);
  EXPECT_EQ(e.engine->status().running, 2);
  e.run();
  for (auto& s : streams) EXPECT_EQ(read_all(*s).tokens, greedy_answer({1, 2}, 5, kVocab));
  EXPECT_EQ(e.engine->status().waiting, 0);
  e.refusal(ids_request({999}, 1));  // a refused request takes no place
  EXPECT_EQ(e.engine->status().waiting, 0);
}

TEST(Engine, UnusableLogitsEndOneRequestOnly) {
  auto model = std::make_unique<FakeModel>(kVocab, [](std::span<const std::int32_t> tokens, std::span<float> out) {
    fake_logits(tokens, out);
    if (tokens[0] == 13 && tokens.size() == 6) std::fill(out.begin(), out.end(), std::nanf(""));
  });
  FakeEngine e(std::move(model), small_options());
  auto broken = e.submit(ids_request({13, 1, 2}, 10));
  auto fine = e.submit(ids_request({12, 1, 2}, 10));
  e.run();
  const Answer b = read_all(*broken);
  EXPECT_EQ(b.done->reason, FinishReason::error);
  EXPECT_EQ(b.tokens.size(), 3u);
  EXPECT_NE(std::string(b.done->error->what()).find("no usable logits"), std::string::npos);
  EXPECT_EQ(read_all(*fine).tokens, greedy_answer({12, 1, 2}, 10, kVocab));
}

// A device whose third step is lost.
class FailingDevice final : public Device {
 public:
  const DeviceCaps& caps() const noexcept override { return host_->caps(); }
  Buffer allocate(std::size_t bytes) override { return host_->allocate(bytes); }
  std::unique_ptr<Stream> new_stream() override { return std::make_unique<FailingStream>(); }

 private:
  struct FailingStream final : Stream {
    void synchronize() override {
      if (++steps == 3) throw Error(Errc::device, "the device went away");
    }
    int steps = 0;
  };
  std::unique_ptr<Device> host_ = open_cpu_device(1);
};

TEST(Engine, AFailedStepEndsTheRequestsInItAndNoOthers) {
  EngineOptions options = small_options();
  options.max_num_seqs = 2;
  FakeEngine e(std::make_unique<FakeModel>(kVocab), options, nullptr, std::make_unique<FailingDevice>());
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (std::int32_t i = 0; i < 4; ++i) streams.push_back(e.submit(ids_request({1, i}, 6)));
  e.run();
  for (std::int32_t i = 0; i < 4; ++i) {
    const Answer a = read_all(*streams[static_cast<std::size_t>(i)]);
    const auto whole = greedy_answer({1, i}, 6, kVocab);
    if (i < 2) {
      EXPECT_EQ(a.done->reason, FinishReason::error);
      EXPECT_EQ(a.done->error->code(), Errc::device);
      EXPECT_EQ(a.tokens, std::vector<std::int32_t>(whole.begin(), whole.begin() + 2));
    } else {
      EXPECT_EQ(a.tokens, whole);
    }
  }
  EXPECT_EQ(e.engine->status().kv_pages_free, e.engine->status().kv_pages_total);
}

TEST(Engine, StreamsOutliveTheEngineAndEndAsCancelled) {
  std::unique_ptr<TokenStream> waiting, running;
  {
    EngineOptions options = small_options();
    options.max_num_seqs = 1;
    FakeEngine e(std::make_unique<FakeModel>(kVocab), options);
    running = e.submit(ids_request({1, 2}, 50));
    waiting = e.submit(ids_request({1, 2}, 50));
    for (int i = 0; i < 5; ++i) e.engine->step();
  }
  const Answer a = read_all(*running), b = read_all(*waiting);
  EXPECT_EQ(a.done->reason, FinishReason::cancelled);
  EXPECT_EQ(a.tokens.size(), 5u);
  EXPECT_EQ(b.done->reason, FinishReason::cancelled);
  EXPECT_TRUE(b.tokens.empty());
}

TEST(Engine, TimingsAddUp) {
  FakeEngine e(std::make_unique<FakeModel>(kVocab), small_options());
  auto stream = e.submit(ids_request({1, 2}, 5));
  e.run();
  const Timings t = read_all(*stream).done->timings;
  EXPECT_GE(t.queue, 0.0);
  EXPECT_GT(t.prefill, 0.0);
  EXPECT_GT(t.decode, 0.0);
  EXPECT_DOUBLE_EQ(t.first_token, t.queue + t.prefill);
}

TEST(Version, IsTheProjects) { EXPECT_STREQ(version(), CONCLAVE_PROJECT_VERSION); }

}  // namespace
}  // namespace conclave::testing
