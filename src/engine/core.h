#pragma once
// The engine itself: one thread owns model, cache and scheduler; callers only meet it at the inbox and at the output queues.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "conclave/engine.h"
#include "engine/admission.h"
#include "engine/batch_builder.h"
#include "engine/inbox.h"
#include "engine/kv_pool.h"
#include "engine/limits.h"
#include "engine/loaded_model.h"
#include "engine/logprobs.h"
#include "engine/sampler.h"
#include "engine/scheduler.h"

namespace conclave {

class EngineCore {
 public:
  // Throws Error{out_of_memory | bad_input}.
  EngineCore(LoadedModel, const EngineOptions&, const StepLimits&);
  ~EngineCore();

  // As in conclave::Engine.
  std::variant<std::unique_ptr<TokenStream>, Error> submit(Request);
  bool step();
  void run(std::stop_token);
  const ModelInfo& info() const noexcept { return info_; }
  EngineStatus status() const noexcept;
  const LoadedModel& loaded() const noexcept { return loaded_; }

 private:
  using Sequences = std::vector<std::unique_ptr<Sequence>>;

  void end_cancelled();
  void end_all();
  void run_step();
  void schedule();
  void preempt(std::span<const std::int32_t> youngest_first);
  void begin(std::size_t count);
  void forward();
  void score_prompt(Sequence&, const Scheduled&);
  void sample(Sequence&, std::span<const float> logits);
  void deliver(Sequence&, std::int32_t id, const TokenLogprob*, std::span<const TokenLogprob> top);
  void give_back(Sequence&) noexcept;
  void end(Sequence&, FinishReason, decltype(Done::stop_reason) = {}, std::optional<Error> = {}) noexcept;
  void fail_scheduled(const Error&) noexcept;
  void drop_ended() noexcept;
  std::span<const float> logits_row(std::int32_t row) const noexcept;

  LoadedModel loaded_;
  StepLimits step_;
  std::vector<std::string> notes_;
  SamplingDefaults defaults_;
  CacheLimits cache_limits_;
  ModelInfo info_;
  AdmissionRules rules_;

  std::unique_ptr<Stream> stream_;
  KvCache cache_;
  KvPool pool_;
  std::vector<std::int32_t> free_slots_;  // as many as sequences run at once
  Workspace workspace_;
  Buffer logits_buffer_;
  TensorView logits_;  // [max_logits_rows, vocab] f32

  Inbox inbox_;
  Sequences waiting_, running_;  // both oldest first
  Scheduler scheduler_;
  std::vector<SequenceView> views_;
  std::vector<Scheduled> scheduled_;
  BatchBuilder batch_;
  Sampler sampler_;
  LogprobReader logprobs_;
  Clock::time_point step_began_;

  std::uint64_t first_seed_;  // of requests that name none
  std::atomic<std::uint64_t> requests_{0};

  // Written by the engine thread, read by status().
  struct Counters {
    std::atomic<std::int32_t> running{0}, preempted{0}, free_pages{0};
    std::atomic<std::int64_t> steps{0}, prompt_tokens{0}, generated_tokens{0}, preemptions{0};
  };
  Counters counters_;
};

}  // namespace conclave
