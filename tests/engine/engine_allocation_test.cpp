// In steady state the engine allocates nothing. A program of its own, because it replaces the global operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/engine/fake_engine.h"

namespace {
std::atomic<bool> counting{false};  // on every thread: the pool's workers may not allocate either
std::atomic<long> allocations{0};

void* allocate(std::size_t bytes) {
  if (counting) ++allocations;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return allocate(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace conclave::testing {
namespace {

long allocations_of_step(Engine& engine) {
  allocations = 0;
  counting = true;
  engine.step();
  counting = false;
  return allocations;
}

TEST(EngineAllocation, TheCounterCounts) {
  counting = true;
  allocations = 0;
  std::vector<int> grown(100);
  counting = false;
  EXPECT_EQ(allocations, 1);
  EXPECT_EQ(grown.size(), 100u);
}

TEST(EngineAllocation, AHundredDecodeStepsOfEightSequencesAllocateNothing) {
  FakeEngine e(std::make_unique<FakeModel>(4096), small_options(), real_tokenizer());
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (int i = 0; i < 8; ++i) {
    Request r = ids_request({1, 2, 3 + i}, 150);
    SamplingParams& s = r.sampling;
    s.ignore_eos = true;
    if (i >= 2) s.temperature = 0.8;
    if (i >= 3) s.top_p = 0.9;
    if (i >= 4) s.repetition_penalty = 1.1;
    if (i >= 5) s.stop = {"a stop string that never comes", "\n\n\n\n"};
    if (i >= 6) s.logprobs = 20;
    if (i >= 7) s.logit_bias = {{5, 1.0}};
    streams.push_back(e.submit(r));
  }
  std::vector<Answer> answers(streams.size());
  const auto read = [&] {
    for (std::size_t i = 0; i < streams.size(); ++i) drain(*streams[i], answers[i]);
  };
  for (int i = 0; i < 10; ++i) e.engine->step(), read();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(allocations_of_step(*e.engine), 0) << "step " << i;
    read();
  }
  for (const Answer& a : answers) EXPECT_EQ(a.tokens.size(), 110u);
}

TEST(EngineAllocation, TheBuiltInModelAllocatesNothingEither) {
  EngineOptions options;
  options.max_num_seqs = 4;
  const auto engine = Engine::open(options);
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (int i = 0; i < 4; ++i) {
    Request r = ids_request(engine->tokenize("Question: how many apples?\nAnswer:"), 120);
    r.sampling.ignore_eos = true;
    streams.push_back(std::get<std::unique_ptr<TokenStream>>(engine->submit(r)));
  }
  std::vector<Answer> answers(streams.size());
  for (int i = 0; i < 105; ++i) {
    const long count = allocations_of_step(*engine);
    EXPECT_TRUE(i < 5 || count == 0) << count << " allocations in step " << i;
    for (std::size_t s = 0; s < streams.size(); ++s) drain(*streams[s], answers[s]);
  }
  EXPECT_EQ(answers[3].tokens.size(), 105u);
}

TEST(EngineAllocation, PreemptionAllocatesNothing) {
  EngineOptions options = small_options();
  options.max_model_len = 100;
  options.kv_cache_tokens = 120;
  FakeEngine e(std::make_unique<FakeModel>(50), options);
  std::vector<std::unique_ptr<TokenStream>> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(e.submit(ids_request(std::vector<std::int32_t>(20, i), 60)));
  for (int i = 0; i < 5; ++i) e.engine->step();
  long count = 0;
  while (e.engine->status().preemptions < 2) count += allocations_of_step(*e.engine);
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace conclave::testing
