#include "models/model_files.h"

#include <fmt/format.h>

#include "base/in_quotes.h"
#include "base/nearest.h"
#include "conclave/error.h"
#include "hub/model_source.h"
#include "models/embedded.h"

namespace conclave {

std::shared_ptr<const FileSet> open_model_files(const std::string& model, const DownloadWatch& watch) {
  if (model.empty()) return embedded_model();
  HubOptions options = hub_options_from_environment();
  options.cancelled = watch.cancelled;
  if (watch.progress)
    options.progress = [&watch](const DownloadProgress& p) { watch.progress(p.done - p.already, p.total - p.already); };
  return resolve_model(model, options);
}

std::unique_ptr<Checkpoint> open_weights(std::shared_ptr<const FileSet> files, std::string_view load_format, DummyValues values) {
  if (load_format == "auto") return Checkpoint::open(std::move(files));
  if (load_format == "dummy") return open_dummy_checkpoint(std::move(files), values);
  throw Error(Errc::bad_input, fmt::format("load_format {} is not known{}; there are auto and dummy", in_quotes(load_format),
                                           did_you_mean(load_format, kLoadFormats)));
}

}  // namespace conclave
