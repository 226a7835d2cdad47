#include "checkpoint/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <functional>

#include "base/in_quotes.h"
#include "base/problems.h"
#include "checkpoint/safetensors_file.h"
#include "checkpoint/safetensors_index.h"
#include "conclave/error.h"

namespace conclave {
namespace {

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";

// Weights under another name or in another format, for the message that refuses the folder.
bool looks_like_weights(std::string_view name) {
  for (std::string_view ending :
       {".safetensors", ".gguf", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".npz", ".index.json"})
    if (name.ends_with(ending)) return true;
  return false;
}

[[noreturn]] void refuse_layout(const FileSet& files) {
  std::string found;
  int count = 0;
  for (const std::string& name : files.names()) {
    if (!looks_like_weights(name) || ++count > 8) continue;
    found += (found.empty() ? "" : ", ") + in_quotes(name);
  }
  if (count == 0)
    throw Error(Errc::not_found, fmt::format("'{}' holds no weights: expected '{}', or '{}' with its shards; without them "
                                             "--load-format dummy (load_format) stands in",
                                             files.location(), kSingleFile, kIndexFile));
  throw Error(
      Errc::unsupported,
      fmt::format("'{}': expected '{}', or '{}' with its shards; found {}{}, which cannot be read. Convert the model with "
                  "save_pretrained(..., safe_serialization=True) of transformers, or take its safetensors version",
                  files.location(), kSingleFile, kIndexFile, found, count > 8 ? fmt::format(" and {} more", count - 8) : ""));
}

bool contains(std::span<const std::byte> all, std::span<const std::byte> part) noexcept {
  const std::less_equal<> not_above;
  return not_above(all.data(), part.data()) && not_above(part.data() + part.size(), all.data() + all.size());
}

// How a file is opened; null when there is none of that name.
using OpenFile = std::unique_ptr<SafetensorsFile> (*)(const FileSet&, std::string_view name);

std::unique_ptr<SafetensorsFile> open_whole(const FileSet& files, std::string_view name) {
  auto file = files.find(name);
  return file == nullptr ? nullptr : std::make_unique<SafetensorsFile>(std::move(file));
}

std::unique_ptr<SafetensorsFile> open_header(const FileSet& files, std::string_view name) {
  const auto length = files.head(name, kSafetensorsLengthBytes);
  if (!length) return nullptr;
  const auto header = files.head(name, safetensors_head_bytes(length->bytes, length->file_bytes, length->name));
  return header ? std::make_unique<SafetensorsFile>(*header) : nullptr;
}

std::vector<std::unique_ptr<SafetensorsFile>> open_shards(const FileSet& files, const MappedFile& index_file, OpenFile open) {
  const SafetensorsIndex index = parse_safetensors_index(index_file.text(), index_file.name());
  std::vector<std::unique_ptr<SafetensorsFile>> shards;
  Problems problems;
  for (const auto& [name, expected] : index) {
    try {
      auto file = open(files, name);
      if (file == nullptr) {
        problems.add(fmt::format("the file {} is missing, and with it {} tensors", in_quotes(name), expected.size()));
        continue;
      }
      shards.push_back(std::move(file));
      compare_with_index(name, expected, shards.back()->tensors(), problems);
    } catch (const Error& error) {
      problems.add(error);
    }
  }
  problems.throw_if_any(Errc::corrupt, index_file.name());
  return shards;
}

class SafetensorsCheckpoint final : public Checkpoint {
 public:
  using Shards = std::vector<std::unique_ptr<SafetensorsFile>>;
  // No name may appear in two of the shards.
  SafetensorsCheckpoint(std::shared_ptr<const FileSet> files, Shards shards);

  // Safe from any thread.
  std::optional<ConstTensorView> find(std::string_view name) const override;
  std::span<const std::string> names() const override { return names_; }
  std::optional<TensorInfo> info(std::string_view name) const override;
  std::vector<std::string_view> unused() const override;
  std::uint64_t total_bytes() const override { return total_bytes_; }
  bool has_values() const override {
    return std::ranges::all_of(shards_, [](const auto& shard) { return shard->has_values(); });
  }
  const FileSet& files() const override { return *files_; }
  void give_back(std::span<const std::byte> bytes) const noexcept override;

 private:
  struct Place {
    const SafetensorsFile* file;
    const SafetensorsTensor* tensor;
  };
  // The position in names_, or nothing.
  std::optional<std::size_t> position(std::string_view name) const;

  std::shared_ptr<const FileSet> files_;
  Shards shards_;
  std::vector<std::string> names_;
  std::vector<Place> places_;                  // parallel to names_
  std::unique_ptr<std::atomic<bool>[]> used_;  // parallel to names_
  std::uint64_t total_bytes_ = 0;
};

std::unique_ptr<Checkpoint> open_by(OpenFile open, std::shared_ptr<const FileSet> files) {
  SafetensorsCheckpoint::Shards shards;
  if (auto single = open(*files, kSingleFile))
    shards.push_back(std::move(single));
  else if (const auto index = files->find(kIndexFile))
    shards = open_shards(*files, *index, open);
  else
    refuse_layout(*files);
  return std::make_unique<SafetensorsCheckpoint>(std::move(files), std::move(shards));
}

}  // namespace

std::unique_ptr<Checkpoint> Checkpoint::open(std::shared_ptr<const FileSet> files) { return open_by(open_whole, std::move(files)); }
std::unique_ptr<Checkpoint> Checkpoint::open_headers(std::shared_ptr<const FileSet> files) {
  return open_by(open_header, std::move(files));
}

SafetensorsCheckpoint::SafetensorsCheckpoint(std::shared_ptr<const FileSet> files, Shards shards)
    : files_(std::move(files)), shards_(std::move(shards)) {
  for (const auto& shard : shards_)
    for (const SafetensorsTensor& tensor : shard->tensors()) {
      places_.push_back({shard.get(), &tensor});
      total_bytes_ += tensor.bytes;
    }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.tensor->name < b.tensor->name; });
  names_.reserve(places_.size());
  for (const Place& place : places_) names_.push_back(place.tensor->name);
  used_ = std::make_unique<std::atomic<bool>[]>(names_.size());
}

std::optional<std::size_t> SafetensorsCheckpoint::position(std::string_view name) const {
  const auto at = std::lower_bound(names_.begin(), names_.end(), name);
  if (at == names_.end() || *at != name) return std::nullopt;
  return static_cast<std::size_t>(at - names_.begin());
}

std::optional<ConstTensorView> SafetensorsCheckpoint::find(std::string_view name) const {
  const auto at = position(name);
  if (!at) return std::nullopt;
  used_[*at].store(true, std::memory_order_relaxed);
  return places_[*at].file->view(*places_[*at].tensor);
}

std::optional<TensorInfo> SafetensorsCheckpoint::info(std::string_view name) const {
  const auto at = position(name);
  if (!at) return std::nullopt;
  const auto& [file, tensor] = places_[*at];
  return TensorInfo{tensor->dtype, tensor->shape, tensor->bytes, file->name()};
}

void SafetensorsCheckpoint::give_back(std::span<const std::byte> bytes) const noexcept {
  for (const auto& shard : shards_)
    if (contains(shard->bytes(), bytes)) shard->give_back(bytes);
}

std::vector<std::string_view> SafetensorsCheckpoint::unused() const {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (!used_[i].load(std::memory_order_relaxed)) out.push_back(names_[i]);
  return out;
}

}  // namespace conclave
