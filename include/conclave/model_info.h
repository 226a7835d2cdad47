#pragma once
// What was loaded and what was decided while loading, for people who ask what runs and why.
#include <cstdint>
#include <string>
#include <vector>

namespace conclave {

struct ModelInfo {
  std::string location;      // the folder, or "embedded:<name>"
  std::string architecture;  // "Qwen3MoeForCausalLM"
  std::string model_type;    // "qwen3_moe"
  std::int32_t layers = 0, hidden = 0, vocab = 0;
  std::int64_t weight_bytes = 0;  // of all tensors of the checkpoint

  // One entry per distinct problem of experts, and one per kind of matrix.
  struct Decision {
    std::string where;    // "model.layers.0.mlp.experts and alike: 16 experts, top 4, ..."; "experts, nvfp4"
    std::string what;     // the backend's name first: "cpu_pipeline, avx2 kernels, nvfp4 in place"; "384 matrices, 8.8 MB"
    std::string reasons;  // every candidate, and why not the others; may have several lines
  };
  std::vector<Decision> decisions;
  std::vector<std::string> notes;  // what differs from what a reader of the folder or of the options would expect

  std::string device;      // "AMD EPYC 7B13"
  std::string operations;  // "cpu-avx2", "reference"
  std::int32_t threads = 0;

  // Limits in effect; EngineOptions holds what was asked for.
  std::int32_t max_model_len = 0;
  std::int32_t max_num_seqs = 0;
  std::int32_t max_num_batched_tokens = 0;

  std::string kv_cache_dtype;  // "bf16"
  std::int64_t kv_cache_tokens = 0;
  std::int64_t kv_cache_bytes = 0;  // recurrent states of max_num_seqs sequences included
  std::int32_t kv_page_tokens = 0;

  bool has_tokenizer = false;
  bool has_chat_template = false;
  std::vector<std::int32_t> eos_ids;  // the main one first

  // What requests get that do not say: field, value, and where it comes from.
  struct SamplingDefault {
    std::string field;  // "temperature"
    double value = 0.0;
    std::string source;  // "generation_config.json", "built in"
  };
  std::vector<SamplingDefault> sampling_defaults;

  double load_seconds = 0.0;
};

// Counters of a running engine. Each is exact; together they may straddle two steps.
struct EngineStatus {
  std::int32_t running = 0;
  std::int32_t waiting = 0;
  std::int32_t kv_pages_total = 0;
  std::int32_t kv_pages_free = 0;
  std::int64_t steps = 0;
  std::int64_t prompt_tokens = 0;  // computed, recomputation included
  std::int64_t generated_tokens = 0;
  std::int64_t preemptions = 0;
};

}  // namespace conclave
