#include "cli/bench_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <random>
#include <set>

#include "base/check.h"
#include "checkpoint/dummy_checkpoint.h"
#include "cli/bench_figures.h"
#include "cli/progress_bar.h"
#include "conclave/error.h"
#include "device/cpu_features.h"
#include "device/memory.h"
#include "quant/codec.h"

namespace conclave::cli {
namespace {

constexpr QuantScheme kInt4Group32{Code::int4, 1, 32, DType::bf16, true};
constexpr QuantScheme kFormats[] = {kBf16,  kFp8Block128, kFp8Channel,   kFp8Tensor,       kNvfp4,
                                    kMxfp4, kInt4Group32, kInt4Group128, kInt4Group128Zero};

// Of a machine that does not tell, and more than most have.
constexpr std::int64_t kUnknownCache = std::int64_t{64} << 20;
constexpr double kMostRepeats = 1024;  // of a layer or of a call: tiny ones stay in the cache

struct Layer {
  std::unique_ptr<Checkpoint> source;  // owns the values
  moe::ExpertWeights weights;
  double bytes = 0.0;
};

double bytes_of(const QuantMatrix& m) { return static_cast<double>(m.codes.bytes() + m.scales.bytes() + m.zeros.bytes()); }

// Weights that depend on `copy` alone, and whether they have values.
std::shared_ptr<Layer> random_layer(const moe::MoeProblem& p, std::int64_t copy, DummyValues values) {
  auto layer = std::make_shared<Layer>();
  layer->source = open_dummy_checkpoint(embedded_files("random experts", {}), values);
  std::vector<std::string> problems;
  const auto matrix = [&](std::int32_t e, std::string_view part, std::int64_t rows, std::int64_t cols) {
    QuantMatrix m =
        codec_for(p.weights).bind(*layer->source, fmt::format("{}.{}.{}", copy, e, part), p.weights, rows, cols, problems);
    layer->bytes += bytes_of(m);
    return m;
  };
  const auto bias = [&](std::int32_t e, std::string_view part, std::int64_t n) {
    if (!p.expert_bias) return ConstTensorView{};
    return *layer->source->provide(fmt::format("{}.{}.{}_bias", copy, e, part), {DType::f32, Shape{n}, -0.1f, 0.1f});
  };
  for (std::int32_t e = 0; e < p.local_count; ++e) {
    moe::Expert& x = layer->weights.experts.emplace_back();
    if (p.activation.gated) x.gate = matrix(e, "gate", p.inter, p.hidden);
    x.up = matrix(e, "up", p.inter, p.hidden);
    x.down = matrix(e, "down", p.hidden, p.inter);
    if (p.activation.gated) x.gate_bias = bias(e, "gate", p.inter);
    x.up_bias = bias(e, "up", p.inter);
    x.down_bias = bias(e, "down", p.hidden);
    if (!problems.empty())
      throw Error(Errc::unsupported,
                  fmt::format("{} cannot be stored as {}: {}", to_string(p), to_string(p.weights), problems.front()));
  }
  return layer;
}

// How often so many bytes exceed the last-level cache four times over.
std::int64_t times_past_the_cache(double bytes) {
  const std::int64_t known = last_level_cache_bytes();
  const double wanted = 4.0 * static_cast<double>(known > 0 ? known : kUnknownCache);
  return static_cast<std::int64_t>(std::min(kMostRepeats, std::ceil(wanted / bytes)));
}

void refuse_too_large(const moe::MoeProblem& p, double bytes, std::int64_t copies) {
  const double needed = bytes * (static_cast<double>(copies) + 1.0), usable = static_cast<double>(usable_memory());
  if (needed > usable)
    throw Error(Errc::out_of_memory,
                fmt::format("{}: the weights and the copy that is being packed take {:.1f} GB and {:.1f} GB of memory are usable; "
                            "take a smaller layer or a narrower format",
                            to_string(p), needed / 1e9, usable / 1e9));
}

// Standard Gumbel: the k largest of log w + noise are k draws without replacement in proportion to w (Gumbel-top-k, Vieira 2014).
float gumbel(std::mt19937_64& random) {
  const double uniform = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
  return static_cast<float>(-std::log(-std::log(uniform)));
}

void fill_logits(const moe::MoeProblem& p, std::int64_t tokens, Routing routing, std::mt19937_64& random, float* logits) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int32_t e = 0; e < p.experts; ++e) {
      const float log_weight = routing == Routing::skewed ? -std::log1p(static_cast<float>(e)) : 0.0f;
      logits[t * p.experts + e] = log_weight + gumbel(random);
    }
  }
}

double distinct_experts(const moe::MoeProblem& p, std::int64_t tokens, const float* logits, const float* bias) {
  const auto experts = static_cast<std::size_t>(p.experts), k = static_cast<std::size_t>(p.top_k);
  std::vector<std::int32_t> ids(k);
  std::vector<float> weights(k);
  std::set<std::int32_t> chosen;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::span<const float> biases(bias, p.routing.selection_bias ? experts : 0);
    moe::route_row(p.routing, {logits + t * p.experts, experts}, biases, ids, weights);
    for (const std::int32_t id : ids)
      if (id >= p.local_first && id < p.local_first + p.local_count) chosen.insert(id);
  }
  return static_cast<double>(chosen.size());
}

Buffer floats(Device& device, std::int64_t count) { return device.allocate(static_cast<std::size_t>(count) * sizeof(float)); }

}  // namespace

std::vector<std::string> expert_formats() {
  std::vector<std::string> names;
  for (const QuantScheme& f : kFormats) names.push_back(to_string(f));
  return names;
}

QuantScheme expert_format(std::string_view name) {
  const auto* found = std::ranges::find_if(kFormats, [&](const QuantScheme& f) { return to_string(f) == name; });
  CONCLAVE_CHECK(found != std::end(kFormats));
  return *found;
}

moe::MoeProblem problem_of(const ExpertShape& shape, const QuantScheme& format) {
  moe::MoeProblem p;
  p.experts = p.local_count = shape.experts;
  p.top_k = shape.top_k;
  p.hidden = shape.hidden;
  p.inter = shape.inter;
  p.routing.renorm = moe::Renorm::sum;
  p.weights = format;
  return p;
}

BenchedExperts::BenchedExperts(const moe::MoeProblem& problem, Routing routing, Device& device, std::string_view backend,
                               bool verify)
    : problem_(problem), routing_(routing), device_(device), stream_(device.new_stream()) {
  layer_bytes_ = random_layer(problem, 0, DummyValues::none)->bytes;
  const std::int64_t copies = times_past_the_cache(layer_bytes_);
  refuse_too_large(problem, layer_bytes_, copies);
  ProgressBar bar("Packing", ProgressBar::Unit::runs);
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    stop_if_interrupted();
    bar.show(copy, copies);
    auto layer = random_layer(problem, copy, DummyValues::random);
    layers_.push_back(moe::build_moe_kernel(problem, layer->weights, device, backend, verify && copy == 0));
    if (layers_.back().kernel->in_place()) kept_.push_back(std::move(layer));
  }
}

void BenchedExperts::prepare(std::int64_t tokens) {
  const moe::MoeProblem& p = problem_;
  std::mt19937_64 random(static_cast<std::uint64_t>(tokens));
  inputs_ = {};
  inputs_.tokens = tokens;
  inputs_.hidden = floats(device_, tokens * p.hidden);
  inputs_.out = floats(device_, tokens * p.hidden);
  inputs_.bias = floats(device_, p.experts);  // zeros
  auto* hidden = reinterpret_cast<float*>(inputs_.hidden.data());
  std::normal_distribution<float> normal;
  std::generate_n(hidden, tokens * p.hidden, [&] { return normal(random); });

  // Enough calls that no weight is met again before the cache has forgotten it.
  const double pairs = std::min<double>(static_cast<double>(tokens) * p.top_k, p.local_count);
  const double call_bytes = layer_bytes_ * pairs / p.local_count;
  const std::int64_t calls = std::max(copies(), times_past_the_cache(call_bytes));
  for (std::int64_t call = 0; call < calls; ++call) {
    Buffer& logits = inputs_.logits.emplace_back(floats(device_, tokens * p.experts));
    auto* values = reinterpret_cast<float*>(logits.data());
    fill_logits(p, tokens, routing_, random, values);
    inputs_.active_experts += distinct_experts(p, tokens, values, reinterpret_cast<const float*>(inputs_.bias.data()));
  }
  inputs_.active_experts /= static_cast<double>(inputs_.logits.size());
  workspace_ = std::make_unique<Workspace>(device_.allocate(built().kernel->workspace_bytes(tokens)));
}

BenchedExperts::Times BenchedExperts::round(std::int64_t tokens) {
  if (inputs_.tokens != tokens) prepare(tokens);
  const moe::MoeProblem& p = problem_;
  moe::MoeCall call;
  call.hidden = ConstTensorView(inputs_.hidden.data(), DType::f32, {tokens, p.hidden});
  call.out = TensorView(inputs_.out.data(), DType::f32, {tokens, p.hidden});
  if (p.routing.selection_bias) call.selection_bias = ConstTensorView(inputs_.bias.data(), DType::f32, {p.experts});

  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < inputs_.logits.size(); ++i) {
    call.router_logits = ConstTensorView(inputs_.logits[i].data(), DType::f32, {tokens, p.experts});
    const Workspace::Scope scope(*workspace_);
    layers_[i % layers_.size()].kernel->run(call, *workspace_, *stream_);
    stream_->synchronize();
    stop_if_interrupted();
  }
  Times times;
  const auto calls = static_cast<double>(inputs_.logits.size());
  times.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  times.active_experts = inputs_.active_experts;
  times.active_bytes = layer_bytes_ / p.local_count * inputs_.active_experts;
  const double matrices = p.activation.gated ? 3.0 : 2.0;
  times.operations = 2.0 * matrices * static_cast<double>(tokens) * p.top_k * p.hidden * p.inter * p.local_count / p.experts;
  return times;
}

}  // namespace conclave::cli
