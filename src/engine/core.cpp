#include "engine/core.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "engine/describe.h"
#include "engine/output_queue.h"
#include "io/json.h"

namespace conclave {
namespace {

SamplingDefaults defaults_of(const LoadedModel& loaded, bool use_generation_config, std::vector<std::string>& notes) {
  return sampling_defaults(use_generation_config ? *loaded.model->config().generation : Json::object(), notes);
}

CacheLimits cache_limits_of(const LoadedModel& loaded, const EngineOptions& options, const StepLimits& step,
                            std::vector<std::string>& notes) {
  const ModelConfig& config = loaded.model->config();
  CacheLimits limits =
      decide_cache_limits(options, step, loaded.model->kv_spec(), config.max_positions, loaded.memory_bytes, notes);
  const RopeConfig& rope = config.rope;
  if (rope.type != "longrope") return limits;
  // The angles were decided before it was known what the memory holds.
  const bool with_long = rope.longest_context > rope.original_max_positions;
  if (with_long && limits.max_model_len <= rope.original_max_positions)
    throw Error(
        Errc::out_of_memory,
        fmt::format("the memory holds contexts of {} tokens, for which the model has other rotary factors than for the {} that "
                    "were planned; give --max-model-len {}",
                    limits.max_model_len, rope.longest_context, limits.max_model_len));
  notes.push_back(fmt::format("longrope: the {} factors are used, for contexts of up to {} tokens", with_long ? "long" : "short",
                              with_long ? rope.longest_context : rope.original_max_positions));
  return limits;
}

std::size_t workspace_bytes(const Model& model, const StepLimits& step, const CacheLimits& cache) {
  return model.workspace_bytes(step.max_num_batched_tokens, step.max_logits_rows, cache.max_model_len);
}

std::uint64_t random_seed() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) | source();
}

}  // namespace

EngineCore::EngineCore(LoadedModel loaded, const EngineOptions& options, const StepLimits& step)
    : loaded_(std::move(loaded)),
      step_(step),
      defaults_(defaults_of(loaded_, options.generation_config, notes_)),
      cache_limits_(cache_limits_of(loaded_, options, step, notes_)),
      info_(describe(loaded_, step, cache_limits_, defaults_, notes_)),
      rules_{loaded_, defaults_, cache_limits_.max_model_len, options.max_logprobs, cache_limits_.spec.page_tokens},
      stream_(loaded_.device->new_stream()),
      cache_(*loaded_.device, cache_limits_.spec, cache_limits_.pages, cache_limits_.sequences),
      pool_(cache_limits_.pages),
      workspace_(loaded_.device->allocate(workspace_bytes(*loaded_.model, step, cache_limits_))),
      logits_buffer_(loaded_.device->allocate(loaded_.model->logits_bytes(step.max_logits_rows))),
      logits_(logits_buffer_.data(), DType::f32, {step.max_logits_rows, info_.vocab}, logits_buffer_.on_device()),
      inbox_(options.max_waiting),
      scheduler_({cache_limits_.spec.page_tokens, step.max_num_batched_tokens, cache_limits_.sequences, step.max_logits_rows}),
      batch_(step),
      sampler_(info_.vocab),
      logprobs_(info_.vocab),
      first_seed_(random_seed()) {
  const auto sequences = static_cast<std::size_t>(cache_limits_.sequences);
  const std::size_t all = sequences + static_cast<std::size_t>(options.max_waiting);
  waiting_.reserve(all);
  running_.reserve(sequences);
  views_.reserve(all);
  scheduled_.reserve(sequences);
  free_slots_.reserve(sequences);
  for (std::int32_t slot = cache_limits_.sequences; slot-- > 0;) free_slots_.push_back(slot);
  counters_.free_pages = pool_.free();
}

EngineCore::~EngineCore() { end_all(); }

std::variant<std::unique_ptr<TokenStream>, Error> EngineCore::submit(Request request) {
  if (!inbox_.enter()) {
    return Error(Errc::busy, fmt::format("{} requests are waiting already; try again later", inbox_.waiting()));
  }
  try {
    auto queue = std::make_shared<OutputQueue>();
    const std::uint64_t seed = first_seed_ + requests_.fetch_add(1, std::memory_order_relaxed);
    auto made = make_sequence(std::move(request), rules_, seed, queue);
    if (auto* refusal = std::get_if<Error>(&made)) {
      inbox_.leave();
      return *refusal;
    }
    auto stream = std::make_unique<TokenStream>(std::move(queue));
    inbox_.put(std::get<std::unique_ptr<Sequence>>(std::move(made)));
    return stream;
  } catch (const std::bad_alloc&) {
    inbox_.leave();
    return Error(Errc::out_of_memory, "no memory for the request");
  }
}

void EngineCore::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    if (!step()) inbox_.wait(stop);
  }
  end_all();
}

EngineStatus EngineCore::status() const noexcept {
  EngineStatus out;
  out.running = counters_.running;
  out.waiting = inbox_.waiting() + counters_.preempted;
  out.kv_pages_total = pool_.total();
  out.kv_pages_free = counters_.free_pages;
  out.steps = counters_.steps;
  out.prompt_tokens = counters_.prompt_tokens;
  out.generated_tokens = counters_.generated_tokens;
  out.preemptions = counters_.preemptions;
  return out;
}

}  // namespace conclave
