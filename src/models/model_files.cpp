#include "models/model_files.h"

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

}  // namespace conclave
