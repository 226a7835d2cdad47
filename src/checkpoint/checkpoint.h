#pragma once
// All tensors of a model.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_set.h"
#include "quant/tensor_source.h"

namespace conclave {

struct TensorInfo {
  std::string_view dtype;  // as the file writes it: "BF16", "F8_E4M3", "U8"
  std::span<const std::int64_t> shape;
  std::size_t bytes;
  std::string_view file;  // for messages
};

class Checkpoint : public TensorSource {
 public:
  // The weights of a model folder: one model.safetensors, or shards listed by model.safetensors.index.json. Reads headers and the
  // index, no tensor. Where both layouts are there the single file wins, as in transformers. Throws Error: not_found (no weights in
  // the folder), unsupported (weights in another format, which is named), corrupt (all problems of the headers and of their
  // agreement with the index at once).
  static std::unique_ptr<Checkpoint> open(std::shared_ptr<const FileSet> files);
  // The same without values (has_values()): headers are read, and nothing is mapped. For plans, which are quick on any model then.
  static std::unique_ptr<Checkpoint> open_headers(std::shared_ptr<const FileSet> files);

  // find() also marks the tensor as used. Data lives as long as the checkpoint.

  virtual std::span<const std::string> names() const = 0;  // sorted
  // Nothing when there is no such tensor; does not mark it as used.
  virtual std::optional<TensorInfo> info(std::string_view name) const = 0;
  // The names that find() has never been asked for, sorted: a tensor nobody wants is as suspicious as one that is missing.
  virtual std::vector<std::string_view> unused() const = 0;
  // Of all tensors, without headers.
  virtual std::uint64_t total_bytes() const = 0;
  virtual const FileSet& files() const = 0;
  // These bytes, of one tensor, were copied and need not stay in memory (MappedFile::give_back). Safe from any thread.
  virtual void give_back(std::span<const std::byte>) const noexcept {}
};

}  // namespace conclave
