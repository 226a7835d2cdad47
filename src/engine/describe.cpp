#include "engine/describe.h"

#include <iterator>

namespace conclave {

ModelInfo describe(const LoadedModel& loaded, const StepLimits& step, const CacheLimits& cache, const SamplingDefaults& defaults,
                   std::vector<std::string> notes) {
  const ModelConfig& config = loaded.model->config();
  const ModelReport& report = loaded.model->report();
  ModelInfo out;
  out.location = loaded.location;
  out.architecture = config.architecture;
  out.model_type = config.model_type;
  out.layers = config.layers;
  out.hidden = config.hidden;
  out.vocab = config.vocab;
  if (loaded.checkpoint) out.weight_bytes = static_cast<std::int64_t>(loaded.checkpoint->total_bytes());
  for (const ModelReport::Line& line : report.lines) out.decisions.push_back({line.where, line.what, line.reasons});
  out.notes = report.notes;
  out.notes.insert(out.notes.end(), std::move_iterator(notes.begin()), std::move_iterator(notes.end()));
  out.device = loaded.device->caps().name;
  out.operations = loaded.ops->name();
  out.threads = loaded.device->caps().threads;
  out.max_model_len = cache.max_model_len;
  out.max_num_seqs = cache.sequences;
  out.max_num_batched_tokens = step.max_num_batched_tokens;
  out.kv_cache_dtype = to_string(cache.spec.dtype);
  out.kv_page_tokens = cache.spec.page_tokens;
  out.kv_cache_tokens = std::int64_t{cache.pages} * cache.spec.page_tokens;
  out.kv_cache_bytes = cache.pages * cache.spec.page_bytes() + cache.sequences * cache.spec.recurrent.sequence_bytes();
  out.has_tokenizer = loaded.tokenizer != nullptr;
  out.has_chat_template = loaded.chat_prompt.has_value();
  out.eos_ids = config.eos_ids;
  out.sampling_defaults = defaults.shown;
  out.load_seconds = loaded.load_seconds;
  return out;
}

}  // namespace conclave
