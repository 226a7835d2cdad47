#include "models/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/math.h"
#include "base/problems.h"
#include "conclave/error.h"
#include "models/planned_linear.h"
#include "moe/build.h"
#include "quant/codec.h"

namespace conclave {
namespace {

std::int64_t bytes_of(const QuantMatrix& m) {
  return m.codes.bytes() + (m.scales ? m.scales.bytes() : 0) + (m.zeros ? m.zeros.bytes() : 0);
}

// Norm weights, biases and the like, to float32.
void to_float(ConstTensorView from, std::span<float> out) {
  QuantMatrix row{
      from.dtype == DType::f32 ? kF32 : from.dtype == DType::f16 ? kF16 : kBf16, 1, from.shape.elements(), from, {}, {}};
  row.codes = ConstTensorView(from.data, from.dtype, {1, row.cols});
  codec_for(row.scheme).decode_row(row, 0, out);
}

DType dtype_of(const QuantScheme& plain) { return plain == kF32 ? DType::f32 : plain == kF16 ? DType::f16 : DType::bf16; }

// Far above any model; what a hostile config.json asks for beyond it is refused before it is added up or listed.
constexpr std::int64_t kMostParameters = std::int64_t{1} << 50;
constexpr std::int64_t kMostExperts = std::int64_t{1} << 17;  // in all layers, if every one had as many as the first

// A router with one weight that is no number would rank experts by rules made for ties, and the logits would look sound.
void expect_finite(const QuantMatrix& matrix, const std::string& module) {
  std::vector<float> row(static_cast<std::size_t>(matrix.cols));
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    codec_for(matrix.scheme).decode_row(matrix, r, row);
    const auto bad = std::ranges::find_if_not(row, [](float v) { return std::isfinite(v); });
    if (bad != row.end())
      throw Error(Errc::corrupt,
                  fmt::format("{}.weight: row {}, column {} is {}: expected a finite number", module, r, bad - row.begin(), *bad));
  }
}

bool is_plain_float(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16; }

}  // namespace

Loader::Loader(const ModelConfig& config, const Checkpoint& checkpoint, const QuantConfig& quant, LoadContext& context)
    : config_(config), checkpoint_(checkpoint), quant_(quant), context_(context) {
  CONCLAVE_CHECK(checkpoint.has_values() || context.plan_only);
  CONCLAVE_CHECK(context.ranks == 1 || (context.plan_only && context.whole != nullptr));
  kv_shape(config.kv_heads, config.head_dim, 0);
}

std::int64_t Loader::share(std::int64_t whole, std::string_view what) {
  if (whole % context_.ranks != 0)
    problem_once("", fmt::format("{} {} cannot be divided among {} ranks", whole, what, context_.ranks));
  return ceil_div<std::int64_t>(whole, context_.ranks);
}

std::int64_t Loader::share_or_copy(std::int64_t whole, std::string_view what) {
  if (context_.ranks % whole == 0) return 1;
  if (whole % context_.ranks == 0) return whole / context_.ranks;
  problem_once("", fmt::format("{} {} can neither be divided among {} ranks nor be held by several of them each", whole, what,
                               context_.ranks));
  return ceil_div<std::int64_t>(whole, context_.ranks);
}

std::int64_t Loader::share_of_vocabulary(std::int64_t vocab) const {
  return context_.ranks == 1 ? vocab : ceil_div<std::int64_t>(round_up<std::int64_t>(vocab, 64), context_.ranks);
}

// A quantised matrix can be cut only where a block of scales, and a word of codes, ends.
bool Loader::cut_between_blocks(const std::string& module, const QuantScheme& scheme, std::int64_t rows, std::int64_t cols) {
  while (context_.whole->matrices.at(in_whole_).module != module) ++in_whole_;
  const ModelReport::Matrix& whole = context_.whole->matrices[in_whole_];
  const auto cut = [&](std::string_view what, std::int64_t all, std::int64_t part, std::int64_t together) {
    if (part == all || part % together == 0) return true;
    problem_once(module, fmt::format("its {} {} give each rank {}, no multiple of the {} that {} keeps together", all, what, part,
                                     together, to_string(scheme)));
    return false;
  };
  const std::int64_t rows_per_word = scheme.zero_point ? 8 : 1;
  const std::int64_t cols_per_word = scheme.code == Code::int4 ? 8 : scheme.code == Code::e2m1 ? 2 : 1;
  const bool rows_fit = cut("rows", whole.rows, rows, std::max<std::int64_t>(scheme.scale_rows, rows_per_word));
  return cut("columns", whole.cols, cols, std::max<std::int64_t>(scheme.scale_cols, cols_per_word)) && rows_fit;
}

// For problems that many matrices share: the first stands for all.
void Loader::problem_once(const std::string& where, const std::string& words) {
  if (told_.insert(words).second) problem(where.empty() ? words : fmt::format("{} and alike: {}", where, words));
}

QuantMatrix Loader::bind(const TensorSource& source, const std::string& module, const QuantScheme& scheme, std::int64_t rows,
                         std::int64_t cols) {
  if (context_.plan_only && context_.progress) context_.progress(0, 0);  // it reads nothing, and can be given up all the same
  if (context_.plan_only && context_.whole == nullptr) report_.matrices.push_back({module, rows, cols});
  if (context_.whole != nullptr && !cut_between_blocks(module, scheme, rows, cols)) return {};
  return codec_for(scheme).bind(source, module, scheme, rows, cols, problems_);
}

ConstTensorView Loader::bias_of(const TensorSource& source, const std::string& module, std::int64_t rows, Bias bias) {
  if (bias == Bias::none) return {};
  return values_of(source, module + ".bias", {rows}, -0.1f, 0.1f).value_or(ConstTensorView{});
}

// The range is for stand-ins. What is wrong is noted.
std::optional<ConstTensorView> Loader::values_of(const TensorSource& source, const std::string& name, const Shape& shape, float low,
                                                 float high) {
  std::optional<ConstTensorView> found;
  try {
    found = source.find(name);
  } catch (const Error& e) {  // of a type that we cannot hold
    problem(e.what());
    return std::nullopt;
  }
  if (!found) found = source.provide(name, {dtype_of(quant_.plain()), shape, low, high});
  if (!found) {
    problem(fmt::format("{} is missing (values {})", name, to_string(shape)));
  } else if (found->shape != shape || !is_plain_float(found->dtype)) {
    problem(fmt::format("{}: expected {} of f32, bf16 or f16, found {} of {}", name, to_string(shape), to_string(found->shape),
                        to_string(found->dtype)));
  } else {
    count(fmt::format("norms and biases, {}", to_string(found->dtype)), shape.elements(), found->bytes());
    return found;
  }
  return std::nullopt;
}

void Loader::linear(std::unique_ptr<Linear>& slot, const std::string& module, std::int64_t rows, std::int64_t cols, Bias bias) {
  const QuantMatrix matrix = bind(checkpoint_, module, quant_.scheme_of(module).weights, rows, cols);
  count("dense linears", matrix);
  preparation_.matrix(matrix, making_linear(slot, matrix, bias_of(checkpoint_, module, rows, bias), module));
}

void Loader::plain_linear(std::unique_ptr<Linear>& slot, const std::string& module, std::int64_t rows, std::int64_t cols,
                          Bias bias) {
  const QuantMatrix matrix = bind(checkpoint_, module, kBf16, rows, cols);
  count("dense linears", matrix);
  preparation_.matrix(matrix,
                      [matrix, module, make = making_linear(slot, matrix, bias_of(checkpoint_, module, rows, bias), module)] {
                        expect_finite(matrix, module);
                        return make();
                      });
}

Preparation::Make Loader::making_linear(std::unique_ptr<Linear>& slot, const QuantMatrix& matrix, ConstTensorView bias,
                                        const std::string& where) {
  if (context_.plan_only) slot = planned_linear(matrix.scheme, matrix.rows, matrix.cols, context_.ops);
  return [this, &slot, matrix, bias, where] {
    try {
      slot = context_.ops.make_linear(matrix, bias);
      return slot->in_place();
    } catch (const Error& e) {
      throw e.with_context(where);
    }
  };
}

void Loader::linear_of(std::unique_ptr<Linear>& slot, const QuantMatrix& matrix, ConstTensorView bias, const std::string& where) {
  preparation_.matrix({}, making_linear(slot, matrix, bias, where));
}

void Loader::expect_copy(const std::string& name, const QuantMatrix& matrix, std::string why) {
  const auto found = checkpoint_.find(name);
  if (!found) return;
  const ConstTensorView codes = matrix.codes;
  if (found->dtype != codes.dtype || found->shape != codes.shape) {
    problems_.push_back(fmt::format("{} is {} {}, the tensor it is meant to be a copy of {} {}: {}", name, to_string(found->dtype),
                                    to_string(found->shape), to_string(codes.dtype), to_string(codes.shape), why));
    return;
  }
  preparation_.matrix({}, [this, name, copy = *found, codes, why = std::move(why)] {
    if (std::memcmp(copy.data, codes.data, static_cast<std::size_t>(codes.bytes())) != 0)
      throw Error(Errc::corrupt, fmt::format("{}: {} has other values than it is meant to be a copy of: {}",
                                             checkpoint_.files().location(), name, why));
    return false;
  });
}

void Loader::derived(const std::string& module, std::int64_t rows, std::int64_t cols, UseMatrix use) {
  const QuantMatrix matrix = bind(checkpoint_, module, quant_.scheme_of(module).weights, rows, cols);
  count("dense linears", matrix);
  preparation_.matrix(matrix, [this, matrix, module, use = std::move(use)] {
    try {
      use(matrix, context_.ops);
      return false;
    } catch (const Error& e) {
      throw e.with_context(module);
    }
  });
}

void Loader::parameter(Parameter& slot, const std::string& name, const Shape& shape) {
  const auto found = values_of(checkpoint_, name, shape, 0.9f, 1.1f);
  if (!found) return;
  preparation_.matrix({}, [this, &slot, view = *found] {
    const auto count = static_cast<std::size_t>(view.shape.elements());
    slot.buffer = context_.device.allocate(count * sizeof(float));
    const TensorView values(slot.buffer.data(), DType::f32, view.shape);
    to_float(view, {values.as<float>(), count});
    slot.view = values;
    return false;
  });
}

void Loader::embedding(QuantMatrix& slot, const std::string& module, std::int64_t rows, std::int64_t cols) {
  slot = bind(checkpoint_, module, quant_.scheme_of(module).weights, rows, cols);
  count("embedding", slot);
  preparation_.matrix(slot);
  if (!config_.tied_embeddings) report_.size.embedding += rows * cols;
}

void Loader::experts(std::unique_ptr<moe::MoeKernel>& slot, const std::string& layer, moe::MoeProblem problem,
                     const ExpertModule& module, const TensorSource& source) {
  problem.max_tokens = context_.max_tokens;
  if (std::int64_t{problem.local_count} * config_.layers > kMostExperts)
    throw Error(Errc::unsupported,
                fmt::format("{}: config.json asks for {} experts in each of {} layers; at most {} in all can be run",
                            checkpoint_.files().location(), problem.local_count, config_.layers, kMostExperts));
  auto weights = std::make_shared<moe::ExpertWeights>();
  const std::int64_t others = report_.size.parameters;
  bind_experts(*weights, problem, layer, module, source);
  const std::int64_t routed = report_.size.parameters - others;
  report_.size.active -= routed - routed / problem.experts * problem.top_k;
  layers_.push_back({slot, layer, problem});
  preparation_.experts(weights, [this, &slot, layer, problem, weights] {
    try {
      build_experts(slot, layer, problem, *weights);
      return slot->in_place();
    } catch (const Error& e) {
      throw e.with_context(layer);
    }
  });
}

void Loader::bind_experts(moe::ExpertWeights& weights, moe::MoeProblem& problem, const std::string& layer,
                          const ExpertModule& module, const TensorSource& source) {
  std::optional<QuantScheme> scheme;
  const auto part = [&](std::int32_t e, Part p, std::int64_t rows, std::int64_t cols) {
    const std::string name = module(e, p);
    const QuantMatrix matrix = bind(source, name, quant_.scheme_of(name).weights, rows, cols);
    count("experts", matrix);
    if (!matrix) return matrix;
    note_calibration(name, matrix, source);
    report_.size.expert_bytes += alike_ * bytes_of(matrix);
    if (!scheme) scheme = matrix.scheme;
    if (matrix.scheme != *scheme)
      problems_.push_back(fmt::format("{} is {}, others of {} are {}: one layer must have one format", name,
                                      to_string(matrix.scheme), layer, to_string(*scheme)));
    return matrix;
  };
  // In the plan of the whole model they were found to be alike, so a plan of a rank looks at one of them.
  if (context_.whole != nullptr) alike_ = problem.local_count;
  const std::int32_t named = problem.local_count / static_cast<std::int32_t>(alike_);
  for (std::int32_t e = problem.local_first; e < problem.local_first + named; ++e) {
    moe::Expert expert;
    if (problem.activation.gated) expert.gate = part(e, Part::gate, problem.inter, problem.hidden);
    expert.up = part(e, Part::up, problem.inter, problem.hidden);
    expert.down = part(e, Part::down, problem.hidden, problem.inter);
    compare_halves(expert, source);
    const Bias bias = problem.expert_bias ? Bias::required : Bias::none;
    if (problem.activation.gated) expert.gate_bias = bias_of(source, module(e, Part::gate), problem.inter, bias);
    expert.up_bias = bias_of(source, module(e, Part::up), problem.inter, bias);
    expert.down_bias = bias_of(source, module(e, Part::down), problem.hidden, bias);
    for (const ConstTensorView* b : {&expert.gate_bias, &expert.up_bias, &expert.down_bias})
      if (*b) report_.size.expert_bytes += alike_ * b->bytes();
    weights.experts.push_back(expert);
  }
  alike_ = 1;
  problem.weights = scheme.value_or(kBf16);
}

// Publishers calibrate gate and up apart or together; kernels must not assume either.
void Loader::compare_halves(const moe::Expert& expert, const TensorSource& source) {
  if (!expert.gate || !expert.up || !expert.up.scheme.global || !source.has_values()) return;
  ++halves_;
  if (expert.gate.global != expert.up.global) ++unequal_halves_;
}

// An expert that calibration never met has no scale for its inputs. Kernels that need one refuse it (moe::check_weights).
void Loader::note_calibration(const std::string& module, const QuantMatrix& matrix, const TensorSource& source) {
  if (!source.has_values() || !matrix.scheme.scaled) return;
  if (matrix.input_scale == 0.0f && uncalibrated_++ == 0) first_uncalibrated_ = module;
  if (matrix.input_scale != 0.0f) ++calibrated_;
}

void Loader::build_experts(std::unique_ptr<moe::MoeKernel>& slot, const std::string& layer, const moe::MoeProblem& problem,
                           const moe::ExpertWeights& weights) {
  const std::string* before = decided_before(problem);
  moe::BuiltMoe built = moe::build_moe_kernel(problem, weights, context_.device, before != nullptr ? *before : context_.moe_backend,
                                              context_.verify && before == nullptr);
  slot = std::move(built.kernel);
  if (before != nullptr) return;
  std::string reasons = built.selection.explain();
  if (built.verification) reasons += built.verification->words + "\n";
  decide(layer, problem, *built.selection.chosen, ", " + slot->describe(), std::move(reasons));
}

// What build_experts() would choose, for a plan.
void Loader::plan_experts(const ExpertLayer& planned) {
  const auto& [slot, layer, problem] = planned;
  const std::string* before = decided_before(problem);
  try {
    const moe::Selection selection = moe::select_backend(problem, context_.device.caps(), moe::builtin_backends(),
                                                         before != nullptr ? *before : context_.moe_backend);
    const moe::MoeBackend& chosen = selection.chosen_for(problem, context_.device.caps());
    slot = chosen.build(problem, {}, context_.device);
    if (before == nullptr) decide(layer, problem, chosen, "", selection.explain());
  } catch (const Error& e) {
    throw e.with_context(layer);
  }
}

const std::string* Loader::decided_before(const moe::MoeProblem& problem) const {
  const auto it = std::find_if(decided_.begin(), decided_.end(), [&](const auto& d) { return d.first == problem; });
  return it == decided_.end() ? nullptr : &it->second;
}

void Loader::decide(const std::string& layer, const moe::MoeProblem& problem, const moe::MoeBackend& backend,
                    std::string_view details, std::string reasons) {
  decided_.emplace_back(problem, backend.name());
  report_.experts.push_back({layer + " and alike: " + to_string(problem), problem});
  report_.lines.push_back({report_.experts.back().where, fmt::format("{}{}", backend.name(), details), std::move(reasons)});
}

std::int32_t Loader::kv_layer(const std::string& attention_module) {
  kv_scales_.push_back(find_kv_scales(checkpoint_, attention_module, problems_));
  return static_cast<std::int32_t>(kv_scales_.size()) - 1;
}

void Loader::kv_shape(std::int32_t kv_heads, std::int32_t head_dim, std::int32_t latent_values) {
  kv_.kv_heads = kv_heads;
  kv_.head_dim = head_dim;
  kv_.latent_values = latent_values;
}

std::int32_t Loader::recurrent_layer(const RecurrentSpec& spec) {
  const std::int32_t index = kv_.recurrent.layers;
  kv_.recurrent = spec;
  kv_.recurrent.layers = index + 1;
  return index;
}

KvSpec Loader::kv_spec() const {
  KvSpec spec = kv_;
  spec.layers = static_cast<std::int32_t>(kv_scales_.size());
  for (const KvScales& scales : kv_scales_) {
    spec.k_scales.push_back(scales.k);
    spec.v_scales.push_back(scales.v);
  }
  return spec;
}

void Loader::ignore_suffix(std::string suffix, std::string why) { ignored_.push_back({std::move(suffix), std::move(why), false}); }
void Loader::ignore_prefix(std::string prefix, std::string why) { ignored_.push_back({std::move(prefix), std::move(why), true}); }

void Loader::check_all_used() {
  for (std::string_view name : checkpoint_.unused()) {
    const auto it = std::find_if(ignored_.begin(), ignored_.end(), [&](const Ignored& i) {
      return i.prefix ? name.substr(0, i.text.size()) == i.text
                      : name.size() >= i.text.size() && name.substr(name.size() - i.text.size()) == i.text;
    });
    if (it != ignored_.end())
      ++it->count;
    else if (names_kv_scale(name))
      problem(
          fmt::format("{} is a scale of a KV cache, and no attention of {} keeps one under that path", name, config_.architecture));
    else
      problem(fmt::format("{} is in the checkpoint and {} has no place for it", name, config_.architecture));
  }
  for (const Ignored& i : ignored_)
    if (i.count != 0)
      report_.notes.push_back(
          fmt::format("{} tensors '{}{}{}' not used: {}", i.count, i.prefix ? "" : "*", i.text, i.prefix ? "*" : "", i.why));
}

void Loader::count(const std::string& kind, std::int64_t parameters, std::int64_t bytes) {
  ModelSize& size = report_.size;
  parameters *= alike_;
  bytes *= alike_;
  if (parameters > kMostParameters - size.parameters || bytes > kMostParameters - size.weight_bytes)
    throw Error(Errc::unsupported, fmt::format("{}: config.json asks for more than {} parameters or bytes",
                                               checkpoint_.files().location(), kMostParameters));
  ModelSize::Format& format = size.formats[kind];
  format.tensors += alike_;
  format.parameters += parameters;
  format.bytes += bytes;
  size.parameters += parameters;
  size.active += parameters;
  size.weight_bytes += bytes;
}

void Loader::count(const std::string& kind, const QuantMatrix& matrix) {
  if (!matrix) return;
  const std::string format = fmt::format("{}, {}", kind, to_string(matrix.scheme));
  count(format, matrix.rows * matrix.cols, bytes_of(matrix));
  report_.size.formats[format].scaled = matrix.scheme.scaled;
}

void Loader::report_counts() {
  const KvSpec kv = kv_spec();
  report_.size.latent_kv = kv.latent_values > 0;
  report_.size.kv_values_per_token = kv.page_bytes() / kv.page_tokens / size_of(kv.dtype);
  std::vector<ModelReport::Line> lines;
  for (const auto& [kind, sum] : report_.size.formats)
    lines.push_back({kind, fmt::format("{} tensors, {:.1f} MB", sum.tensors, static_cast<double>(sum.bytes) / 1e6), ""});
  report_.lines.insert(report_.lines.begin(), lines.begin(), lines.end());
}

// What an FP8 cache would use. A table of names knows nothing of scales that it does not list.
void Loader::note_kv_scales() {
  const bool published = std::ranges::any_of(kv_scales_, &KvScales::published);
  if (published || (quant_.announces_fp8_kv() && checkpoint_.has_values()))
    report_.notes.push_back(describe(kv_scales_, checkpoint_.has_values()) + "; they are used by an fp8 cache only");
}

// Scales are checked even when it is known that the model cannot be loaded: all problems are told at once.
void Loader::prepare() {
  if (!checkpoint_.has_values()) return;
  const auto stream = context_.device.new_stream();
  preparation_.run({pool_of(*stream), checkpoint_, context_.plan_only, context_.progress}, problems_);
}

ModelReport Loader::build() {
  check_all_used();
  prepare();
  if (context_.all_problems != nullptr) *context_.all_problems = problems_;
  Problems told;
  for (std::string& words : problems_) told.add(std::move(words));
  told.throw_if_any(Errc::corrupt, checkpoint_.files().location());
  if (context_.plan_only)
    for (const ExpertLayer& layer : layers_) plan_experts(layer);
  report_counts();
  note_kv_scales();
  if (unequal_halves_ > 0)
    report_.notes.push_back(fmt::format("gate and up have different global scales in {} of {} experts; each half keeps its own",
                                        unequal_halves_, halves_));
  if (calibrated_ > 0 && uncalibrated_ > 0)
    report_.notes.push_back(
        fmt::format("{} of {} expert matrices have no input scale, the first {}; none is used: inputs of experts "
                    "are not quantised",
                    uncalibrated_, calibrated_ + uncalibrated_, first_uncalibrated_));
  if (kv_.recurrent.layers > 0)
    report_.notes.push_back(
        fmt::format("{} layers keep {:.1f} MB of float32 state for each sequence beside its KV pages; what prompts have in common "
                    "is computed for each of them",
                    kv_.recurrent.layers, static_cast<double>(kv_.recurrent.sequence_bytes()) / 1e6));
  report_.notes.insert(report_.notes.end(), quant_.notes().begin(), quant_.notes().end());
  return std::move(report_);
}

}  // namespace conclave
