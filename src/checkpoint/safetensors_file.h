#pragma once
// One safetensors file as a source of tensors; the data stays in the map of the file.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/safetensors_header.h"
#include "io/mapped_file.h"
#include "quant/tensor_source.h"

namespace conclave {

class SafetensorsFile final : public TensorSource {
 public:
  // Reads and checks the header, no tensor. Throws Error{corrupt} with all problems of the file.
  explicit SafetensorsFile(std::shared_ptr<const MappedFile>);
  // Of a file of which the header alone was read: its views have a type and a shape, and may not be read. Throws the same.
  explicit SafetensorsFile(const FileHead&);

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return file_ ? file_->bytes() : std::span<const std::byte>(); }
  void give_back(std::span<const std::byte> bytes) const noexcept {
    if (file_) file_->give_back(bytes);
  }
  bool has_values() const override { return file_ != nullptr; }
  std::span<const SafetensorsTensor> tensors() const { return tensors_; }  // sorted by name

  // Safe from any thread.
  std::optional<ConstTensorView> find(std::string_view name) const override;
  // `tensor` is one of tensors(). Throws Error{unsupported}: a type without a DType, more than four dimensions.
  // A tensor that does not begin at a multiple of its element's size is copied, once, to one that does: the format does
  // not ask for alignment, typed pointers do.
  ConstTensorView view(const SafetensorsTensor& tensor) const;

 private:
  const std::byte* aligned_data(const SafetensorsTensor& tensor, int element_bytes) const;

  std::shared_ptr<const MappedFile> file_;  // null: the header alone
  std::string name_;
  std::vector<SafetensorsTensor> tensors_;
  mutable std::mutex copies_mutex_;
  mutable std::map<const SafetensorsTensor*, std::vector<std::uint64_t>> copies_;  // of misaligned tensors
};

}  // namespace conclave
