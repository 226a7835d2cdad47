#pragma once
// The files of what a user calls a model.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/dummy_checkpoint.h"
#include "io/file_set.h"
#include "models/model.h"
#include "tensor/dtype.h"

namespace conclave {

// Watches a download, should one be needed; both may be empty.
struct DownloadWatch {
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // bytes
  std::function<bool()> cancelled;
};

// "": the built-in model; else a folder, or a model of the hub (hub/model_source.h), of which no weights are fetched for load
// format "dummy". Throws Error.
std::shared_ptr<const FileSet> open_model_files(const std::string& model, std::string_view load_format, const DownloadWatch& = {});

// The weights of a model: its own ("auto"), or stand-ins in their formats ("dummy"), with or without values. Throws Error.
inline constexpr std::string_view kLoadFormats[] = {"auto", "dummy"};
std::unique_ptr<Checkpoint> open_weights(std::shared_ptr<const FileSet>, std::string_view load_format, DummyValues);

// What config.json alone says of a model: the plan of stand-ins by the reference, which can run every model that means something.
// Throws Error.
ModelReport plan_configuration(std::shared_ptr<const FileSet>);

// The cache that a caller asks for: so many bytes, or else room for so many tokens of that type.
struct CacheAsked {
  std::int64_t tokens = 0, bytes = 0;
  DType dtype = DType::bf16;
};

// The weights with their values, of a model that is to run beside such a cache. Stand-ins are memory of this process: what it
// cannot hold is refused before the first is made (Error{out_of_memory}); copies that packing makes beside them are not counted and
// fail when they are made. Files larger than memory are warned of.
std::unique_ptr<Checkpoint> open_weights_to_run(std::shared_ptr<const FileSet>, std::string_view load_format, const CacheAsked&);

}  // namespace conclave
