#pragma once
// A loaded model: weights on a device, ready to run batches. One file per architecture makes one, by name (models.def).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "models/config.h"
#include "moe/problem.h"
#include "nn/forward.h"
#include "nn/kv_cache.h"
#include "ops/batch.h"
#include "quant/config.h"

namespace conclave {

// How large a model is, counted while it is bound.
struct ModelSize {
  struct Format {
    std::int64_t tensors = 0, parameters = 0, bytes = 0;  // tensors: matrices with their scales, or vectors
    bool scaled = false;
  };
  std::map<std::string, Format> formats;  // "experts, nvfp4"
  // Weights and biases, without scales; tied ones once. `active` are those that one token meets: of the routed experts the chosen
  // ones. `embedding` is part of both, unless it serves as head too; some publishers leave it out of what is active.
  std::int64_t parameters = 0, active = 0, embedding = 0;
  std::int64_t weight_bytes = 0;         // with scales
  std::int64_t expert_bytes = 0;         // of these, routed experts with their biases
  std::int64_t kv_values_per_token = 0;  // in the cache, all layers together
  bool latent_kv = false;                // of these, keys and values are one vector for all heads (MLA)

  bool has_scales() const {
    return std::ranges::any_of(formats, [](const auto& f) { return f.second.scaled; });
  }
};

// What was decided while loading, for people: one line per distinct problem of experts, and one per kind of tensor.
struct ModelReport {
  struct Line {
    std::string where;    // "model.layers.0.mlp.experts and alike: 16 experts, top 4, ..."; "experts, nvfp4"
    std::string what;     // the backend's name first: "cpu_pipeline, avx2 kernels, nvfp4 in place"; "384 tensors, 8.8 MB"
    std::string reasons;  // Selection::explain() and the verification's sentence; empty for dense parts
  };
  std::vector<Line> lines;
  ModelSize size;
  struct Experts {
    std::string where;  // as Line has it
    moe::MoeProblem problem;
  };
  std::vector<Experts> experts;  // distinct ones
  struct Matrix {
    std::string module;
    std::int64_t rows, cols;
  };
  std::vector<Matrix> matrices;    // of a plan of the whole model: all, in the order in which they were named
  std::vector<std::string> notes;  // "KV scales: 3 of 3 layers published (...)", tensors that are not used, ...
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const noexcept = 0;
  virtual const ModelReport& report() const noexcept = 0;
  virtual KvSpec kv_spec() const = 0;  // dtype bf16 unless the caller overrides it

  // Bytes of workspace that forward() takes for a step of so many rows, so many wanted logits rows and contexts this long.
  virtual std::size_t workspace_bytes(std::int64_t tokens, std::int64_t logits_rows, std::int64_t max_context) const = 0;
  // Of so many rows over the whole vocabulary, beside the workspace.
  std::size_t logits_bytes(std::int64_t rows) const {
    return sizeof(float) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(config().vocab);
  }

  // Runs the batch's rows through all layers, writing their keys and values to the cache; logits [logits_rows, vocab] f32.
  // Token ids are in [0, vocab). The KV pages of every sequence hold room for its context.
  virtual void forward(const Batch&, KvCache&, const Forward&, TensorView logits) const noexcept = 0;
};

// The largest step that a model is to run.
struct StepSize {
  std::int32_t tokens = 512, logits_rows = 64;
  std::int32_t context = 0;  // longest sequence; 0: as long as the model knows positions
};

struct LoadContext {
  Device& device;
  const Ops& ops;
  std::string moe_backend = "auto";  // as moe/select.h takes it
  bool verify = true;                // verify-on-build of expert kernels
  bool plan_only = false;            // bind, check and decide, but pack nothing: report and sizes are complete, nothing can run
  // Of a plan: what one of so many tensor-parallel ranks would hold of the model that was planned as `whole`.
  std::int32_t ranks = 1;
  const ModelReport* whole = nullptr;
  std::int32_t max_tokens = 512;                     // most rows of one step
  std::int32_t max_context = 0;                      // longest sequence; 0: as long as the model knows positions
  std::vector<std::string>* all_problems = nullptr;  // gets every problem of the files; the error that is thrown tells twenty
  // Called now and then with bytes of weights prepared so far, of all, which are 0 in a plan; what it throws ends loading. May be
  // empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

// One architecture: its names as config.json's "architectures" spells them, and how to load it.
struct Architecture {
  std::span<const std::string_view> names;
  std::unique_ptr<Model> (*load)(const ModelConfig&, const Checkpoint&, const QuantConfig&, LoadContext&);
};
std::span<const Architecture* const> all_architectures();

// What a folder's config.json, generation_config.json and hf_quant_config.json say, without looking at weights. Throws Error.
struct ModelDescription {
  ModelConfig config;
  QuantConfig quant;
};
ModelDescription describe_model(const FileSet&);

// The model of a checkpoint: reads config.json (and hf_quant_config.json), finds the architecture, loads it, and checks that
// every tensor was used. Throws Error with all problems found.
std::unique_ptr<Model> load_model(const Checkpoint&, LoadContext&);

// The same without reading weights: everything is named, checked and decided. Throws the same errors. Of a dummy checkpoint
// without values this is what config.json alone says, and the checkpoint lists the tensors afterwards. The model has its report and
// its sizes and cannot run; the context's device and ops must outlive it.
std::unique_ptr<Model> plan_model(const Checkpoint&, LoadContext);

}  // namespace conclave
