#include "engine/loaded_model.h"

#include <algorithm>
#include <chrono>

#include "device/memory.h"
#include "engine/text_files.h"
#include "models/model_files.h"
#include "moe/select.h"

namespace conclave {

LoadedModel load(const EngineOptions& options, const StepLimits& limits) {
  const auto start = std::chrono::steady_clock::now();
  const std::shared_ptr<const FileSet> files =
      open_model_files(options.model, options.load_format, {options.download_progress, options.cancelled});
  LoadedModel out;
  out.location = files->location();
  if (!options.skip_tokenizer_init) {
    out.tokenizer = open_tokenizer(*files);
    out.chat_prompt = open_chat_prompt(*files, options.chat_template);
  }
  out.device = open_cpu_device(options.threads);
  out.ops = options.reference ? make_reference_ops() : make_cpu_ops(out.device->caps());
  const CacheAsked cache{std::max<std::int64_t>(options.kv_cache_tokens, options.max_model_len), options.kv_cache_bytes,
                         kv_cache_dtype(options)};
  out.checkpoint = open_weights_to_run(files, options.load_format, cache);
  // The float32 path is the reference in every part, the experts too unless theirs is asked for by name.
  const bool reference_experts = options.reference && options.moe_backend == moe::kDefaultBackend;
  LoadContext context{.device = *out.device,
                      .ops = *out.ops,
                      .moe_backend = reference_experts ? "reference" : options.moe_backend,
                      .verify = options.verify,
                      .max_tokens = limits.max_num_batched_tokens,
                      .max_context = options.max_model_len,
                      .progress = options.progress};
  out.model = load_model(*out.checkpoint, context);
  out.memory_bytes = usable_memory();
  out.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace conclave
