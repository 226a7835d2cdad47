#include "models/model_files.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "base/nearest.h"
#include "conclave/error.h"
#include "device/cpu_features.h"
#include "hub/model_source.h"
#include "models/embedded.h"
#include "models/model.h"
#include "ops/ops.h"

namespace conclave {

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

namespace {

// Stand-ins take memory of their own. What it cannot hold is refused before the first is made: the system would end the process
// without a word.
void refuse_beyond_memory(const std::shared_ptr<const FileSet>& files) {
  const auto device = open_cpu_device(1);
  const auto ops = make_reference_ops();
  const auto table = open_dummy_checkpoint(files, DummyValues::none);
  const std::int64_t bytes = plan_model(*table, {.device = *device, .ops = *ops, .moe_backend = "reference"}).size.weight_bytes;
  if (bytes > usable_memory())
    throw Error(Errc::out_of_memory,
                fmt::format("{}: its weights take {:.3f} GB and this process may use {:.3f} GB of memory; give "
                            "the config.json fewer layers (num_hidden_layers)",
                            files->location(), static_cast<double>(bytes) / 1e9, static_cast<double>(usable_memory()) / 1e9));
}

}  // namespace

std::unique_ptr<Checkpoint> open_weights(std::shared_ptr<const FileSet> files, std::string_view load_format, DummyValues values) {
  if (load_format == "auto") return Checkpoint::open(std::move(files));
  if (load_format == "dummy") {
    if (values == DummyValues::random) refuse_beyond_memory(files);
    return open_dummy_checkpoint(std::move(files), values);
  }
  throw Error(Errc::bad_input, fmt::format("load_format {} is not known{}; there are auto and dummy", in_quotes(load_format),
                                           did_you_mean(load_format, kLoadFormats)));
}

}  // namespace conclave
