#include "models/model_files.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "base/log.h"
#include "base/nearest.h"
#include "conclave/error.h"
#include "device/memory.h"
#include "hub/model_source.h"
#include "models/embedded.h"
#include "ops/ops.h"

namespace conclave {
namespace {

double gigabytes(double bytes) { return bytes / 1e9; }

// The sizes are those of a plan, which takes no memory.
void refuse_beyond(double memory, const std::shared_ptr<const FileSet>& files, const CacheAsked& asked) {
  const ModelSize size = plan_configuration(files).size;
  const auto weights = static_cast<double>(size.weight_bytes), tokens = static_cast<double>(asked.tokens),
             token = static_cast<double>(size.kv_values_per_token * size_of(asked.dtype)),
             cache = asked.bytes > 0 ? static_cast<double>(asked.bytes) : tokens * token;
  if (weights + cache > memory)
    throw Error(
        Errc::out_of_memory,
        fmt::format("{}: the weights take {:.3f} GB, the KV cache that was asked for {:.3f} GB, and this process may use {:.3f} GB "
                    "of memory; give the config.json fewer layers (num_hidden_layers), or ask for a shorter context. `conclave "
                    "check --load-format dummy` needs no memory",
                    files->location(), gigabytes(weights), gigabytes(cache), gigabytes(memory)));
}

}  // namespace

std::shared_ptr<const FileSet> open_model_files(const std::string& model, std::string_view load_format,
                                                const DownloadWatch& watch) {
  if (model.empty()) return embedded_model();
  HubOptions options = hub_options_from_environment();
  options.weights = load_format != "dummy";
  options.cancelled = watch.cancelled;
  if (watch.progress)
    options.progress = [&watch](const DownloadProgress& p) { watch.progress(p.done - p.already, p.total - p.already); };
  return resolve_model(model, options);
}

std::unique_ptr<Checkpoint> open_weights(std::shared_ptr<const FileSet> files, std::string_view load_format, DummyValues values) {
  if (load_format == "auto")
    return values == DummyValues::none ? Checkpoint::open_headers(std::move(files)) : Checkpoint::open(std::move(files));
  if (load_format == "dummy") return open_dummy_checkpoint(std::move(files), values);
  throw Error(Errc::bad_input, fmt::format("load_format {} is not known{}; there are auto and dummy", in_quotes(load_format),
                                           did_you_mean(load_format, kLoadFormats)));
}

ModelReport plan_configuration(std::shared_ptr<const FileSet> files) {
  const auto device = open_cpu_device(1);
  const auto ops = make_reference_ops();
  const auto stand_ins = open_dummy_checkpoint(std::move(files), DummyValues::none);
  return plan_model(*stand_ins, {.device = *device, .ops = *ops, .moe_backend = "reference"})->report();
}

std::unique_ptr<Checkpoint> open_weights_to_run(std::shared_ptr<const FileSet> files, std::string_view load_format,
                                                const CacheAsked& asked) {
  const auto memory = static_cast<double>(usable_memory());  // before files are mapped, which takes addresses
  if (load_format == "dummy") refuse_beyond(memory, files, asked);
  auto weights = open_weights(std::move(files), load_format, DummyValues::random);
  if (const auto bytes = static_cast<double>(weights->total_bytes()); bytes > memory)
    log::warning(
        "{}: the weights take {:.3f} GB and this process may use {:.3f} GB of memory: what is used in place will be read again "
        "and again, which is very slow, and copies will not fit; --moe-backend cpu_pipeline makes the fewest",
        weights->files().location(), gigabytes(bytes), gigabytes(memory));
  return weights;
}

}  // namespace conclave
