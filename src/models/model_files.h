#pragma once
// The files of what a user calls a model.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/file_set.h"

namespace conclave {

// Watches a download, should one be needed; both may be empty.
struct DownloadWatch {
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // bytes
  std::function<bool()> cancelled;
};

// "": the built-in model; else a folder, or a model of the hub (hub/model_source.h). Throws Error.
std::shared_ptr<const FileSet> open_model_files(const std::string& model, const DownloadWatch& = {});

}  // namespace conclave
