#pragma once
// All tensors of a model folder: one model.safetensors, or shards listed by model.safetensors.index.json.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors_file.h"
#include "io/file_set.h"
#include "quant/tensor_source.h"

namespace conclave {

struct TensorInfo {
  std::string_view dtype;  // as the file writes it: "BF16", "F8_E4M3", "U8"
  std::span<const std::int64_t> shape;
  std::size_t bytes;
  std::string_view file;  // for messages
};

class Checkpoint final : public TensorSource {
 public:
  // Reads headers and the index, no tensor. Where both layouts are there the single file wins, as in transformers.
  // Throws Error: not_found (no weights in the folder), unsupported (weights in another format, which is named), corrupt
  // (all problems of the headers and of their agreement with the index at once).
  static std::unique_ptr<Checkpoint> open(std::shared_ptr<const FileSet> files);

  // Also marks the tensor as used. Safe from any thread. Data lives as long as the checkpoint.
  std::optional<ConstTensorView> find(std::string_view name) const override;

  std::span<const std::string> names() const { return names_; }  // sorted
  // Nothing when there is no such tensor; does not mark it as used.
  std::optional<TensorInfo> info(std::string_view name) const;
  // The names that find() has never been asked for, sorted: a tensor nobody wants is as suspicious as one that is missing.
  std::vector<std::string_view> unused() const;
  // Of all tensors, without headers.
  std::uint64_t total_bytes() const { return total_bytes_; }
  const FileSet& files() const { return *files_; }

 private:
  struct Place {
    const SafetensorsFile* file;
    const SafetensorsTensor* tensor;
  };
  using Shards = std::vector<std::unique_ptr<SafetensorsFile>>;

  // No name may appear in two of the shards.
  Checkpoint(std::shared_ptr<const FileSet> files, Shards shards);
  // The position in names_, or nothing.
  std::optional<std::size_t> position(std::string_view name) const;

  std::shared_ptr<const FileSet> files_;
  Shards shards_;
  std::vector<std::string> names_;
  std::vector<Place> places_;                  // parallel to names_
  std::unique_ptr<std::atomic<bool>[]> used_;  // parallel to names_
  std::uint64_t total_bytes_ = 0;
};

}  // namespace conclave
