#pragma once
// Loading in two passes: an architecture first names everything it needs, which binds views and collects every problem of names
// and shapes without touching weights; build() then reads them, checks their scales and packs them into their places.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/model.h"
#include "models/preparation.h"
#include "moe/backend.h"
#include "nn/parameter.h"
#include "quant/kv_scales.h"

namespace conclave {

enum class Bias : std::uint8_t { none, required };

class Loader {
 public:
  Loader(const ModelConfig&, const Checkpoint&, const QuantConfig&, LoadContext&);

  // Slots must stay where they are until build() has returned. `module` is the published path without ".weight".
  void linear(std::unique_ptr<Linear>& slot, const std::string& module, std::int64_t rows, std::int64_t cols, Bias = Bias::none);
  // The same for what is never quantised, whatever an exclusion list forgot: routers and their like.
  void plain_linear(std::unique_ptr<Linear>& slot, const std::string& module, std::int64_t rows, std::int64_t cols,
                    Bias = Bias::none);
  // A matrix that the architecture turns into something else: `use` is called by build(), beside other such calls and on any
  // thread, and may read it during the call.
  using UseMatrix = std::function<void(const QuantMatrix&, const Ops&)>;
  void derived(const std::string& module, std::int64_t rows, std::int64_t cols, UseMatrix use);
  // A vector [n], or few numbers in another shape, kept as float32.
  void parameter(Parameter& slot, const std::string& name, std::int64_t n) { parameter(slot, name, Shape{n}); }
  void parameter(Parameter& slot, const std::string& name, const Shape&);
  void embedding(QuantMatrix& slot, const std::string& module, std::int64_t rows, std::int64_t cols);
  // A linear over a matrix that is bound already: the head of tied embeddings.
  // It counts as no matrix of its own.
  void linear_of(std::unique_ptr<Linear>& slot, const QuantMatrix&, ConstTensorView bias, const std::string& where);

  // Some publish a matrix that is bound a second time, as `name`. A tensor of that name must be the same, or is refused for `why`.
  void expect_copy(const std::string& name, const QuantMatrix&, std::string why);

  // The routed experts of one layer. `problem` says everything but the formats, which come from the weights.
  // `expert_module(e, part)` is the published path of expert e's gate, up or down projection, which is looked up in source(), or in
  // another source over it (StackedExperts) that is needed only during this call.
  enum class Part : std::uint8_t { gate, up, down };
  using ExpertModule = std::function<std::string(std::int32_t expert, Part part)>;
  void experts(std::unique_ptr<moe::MoeKernel>& slot, const std::string& layer, moe::MoeProblem problem, const ExpertModule&,
               const TensorSource& source);
  const TensorSource& source() const { return checkpoint_; }

  // What is left of a width, and so on, for one rank of tensor parallelism (LoadContext::ranks, else all of it): every rank an
  // equal part of what is divided between linears, and inputs and outputs of the block whole. "the experts' width" for messages.
  std::int64_t share(std::int64_t whole, std::string_view what);
  // The same for what several ranks may hold as a whole each: key-value heads, of which there are few.
  std::int64_t share_or_copy(std::int64_t whole, std::string_view what);
  // Of the rows of an embedding or a head, filled up to a multiple of 64 as vLLM does it.
  std::int64_t share_of_vocabulary(std::int64_t vocab) const;

  // The next layer of the KV cache, for one attention module; its published cache scales are read and shown.
  std::int32_t kv_layer(const std::string& attention_module);
  // What the cache holds per token and layer, where it is not the configuration's heads (KvSpec says what the fields mean).
  void kv_shape(std::int32_t kv_heads, std::int32_t head_dim, std::int32_t latent_values);
  // The next recurrent layer of the cache; all have the same shape (the spec's own `layers` is not looked at).
  std::int32_t recurrent_layer(const RecurrentSpec&);
  KvSpec kv_spec() const;

  // Tensors that the architecture knows and does not need: names ending in `suffix`, or beginning with `prefix`.
  void ignore_suffix(std::string suffix, std::string why);
  void ignore_prefix(std::string prefix, std::string why);
  bool has(const std::string& tensor) const { return checkpoint_.find(tensor).has_value(); }
  void problem(std::string words) { problems_.push_back(std::move(words)); }

  // What was named since the last call is prepared together (models/preparation.h).
  void end_step() { preparation_.end_step(); }

  // Throws Error{corrupt} listing all problems; packs everything; returns what was decided.
  ModelReport build();

 private:
  QuantMatrix bind(const TensorSource&, const std::string& module, const QuantScheme&, std::int64_t rows, std::int64_t cols);
  bool cut_between_blocks(const std::string& module, const QuantScheme&, std::int64_t rows, std::int64_t cols);
  void problem_once(const std::string& where, const std::string& words);
  ConstTensorView bias_of(const TensorSource&, const std::string& module, std::int64_t rows, Bias);
  std::optional<ConstTensorView> values_of(const TensorSource&, const std::string& name, const Shape&, float low, float high);
  void bind_experts(moe::ExpertWeights&, moe::MoeProblem&, const std::string& layer, const ExpertModule&, const TensorSource&);
  void compare_halves(const moe::Expert&, const TensorSource&);
  void note_calibration(const std::string& module, const QuantMatrix&, const TensorSource&);
  void build_experts(std::unique_ptr<moe::MoeKernel>& slot, const std::string& layer, const moe::MoeProblem&,
                     const moe::ExpertWeights&);
  Preparation::Make making_linear(std::unique_ptr<Linear>& slot, const QuantMatrix&, ConstTensorView bias,
                                  const std::string& where);
  void prepare();
  void check_all_used();
  const std::string* decided_before(const moe::MoeProblem&) const;
  void decide(const std::string& layer, const moe::MoeProblem&, const moe::MoeBackend&, std::string_view details,
              std::string reasons);
  void count(const std::string& kind, std::int64_t parameters, std::int64_t bytes);
  void count(const std::string& kind, const QuantMatrix&);
  void report_counts();
  void note_kv_scales();

  struct ExpertLayer {
    std::unique_ptr<moe::MoeKernel>& slot;
    std::string layer;
    moe::MoeProblem problem;
  };
  void plan_experts(const ExpertLayer&);

  struct Ignored {
    std::string text, why;
    bool prefix;
    int count = 0;
  };
  const ModelConfig& config_;
  const Checkpoint& checkpoint_;
  const QuantConfig& quant_;
  LoadContext& context_;
  std::vector<std::string> problems_;
  std::set<std::string> told_;  // by problem_once()
  Preparation preparation_;
  std::vector<ExpertLayer> layers_;  // in order
  std::int64_t alike_ = 1;           // tensors that one which is counted stands for
  std::size_t in_whole_ =
      0;  // of a rank's plan: index into whole->matrices of the last one found, as it names some of them in order
  std::vector<Ignored> ignored_;
  // Distinct problems so far, each with the backend that its first layer took: later layers take the same.
  std::vector<std::pair<moe::MoeProblem, std::string>> decided_;
  std::vector<KvScales> kv_scales_;
  std::int64_t halves_ = 0, unequal_halves_ = 0;    // experts whose gate and up have a global scale each
  std::int64_t calibrated_ = 0, uncalibrated_ = 0;  // matrices of experts with and without a static input scale
  std::string first_uncalibrated_;
  KvSpec kv_;
  ModelReport report_;
};

}  // namespace conclave
