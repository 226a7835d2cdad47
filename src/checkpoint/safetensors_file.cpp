#include "checkpoint/safetensors_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/in_quotes.h"
#include "base/math.h"
#include "checkpoint/safetensors_dtype.h"
#include "conclave/error.h"

namespace conclave {
namespace {

// Where views of a header point: not null, and never read.
constexpr std::byte kNowhere{};

}  // namespace

SafetensorsFile::SafetensorsFile(std::shared_ptr<const MappedFile> file)
    : file_(std::move(file)), name_(file_->name()), tensors_(read_safetensors_header(file_->bytes(), name_)) {}

SafetensorsFile::SafetensorsFile(const FileHead& head)
    : name_(head.name), tensors_(read_safetensors_header(head.bytes, head.file_bytes, name_)) {}

std::optional<ConstTensorView> SafetensorsFile::find(std::string_view name) const {
  const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                   [](const SafetensorsTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  if (at == tensors_.end() || at->name != name) return std::nullopt;
  return view(*at);
}

ConstTensorView SafetensorsFile::view(const SafetensorsTensor& tensor) const {
  const SafetensorsDType* dtype = find_safetensors_dtype(tensor.dtype);
  if (dtype == nullptr || !dtype->held)
    throw Error(Errc::unsupported,
                fmt::format("tensor {} of '{}': elements of type {} cannot be used; was it made by a newer tool?",
                            in_quotes(tensor.name), name_, in_quotes(tensor.dtype)));
  if (tensor.shape.size() > Shape::kMaxRank)
    throw Error(Errc::unsupported, fmt::format("tensor {} of '{}': {} dimensions, at most {} can be used", in_quotes(tensor.name),
                                               name_, tensor.shape.size(), Shape::kMaxRank));
  Shape shape;
  for (const std::int64_t extent : tensor.shape) shape.push_back(extent);
  return {aligned_data(tensor, size_of(*dtype->held)), *dtype->held, shape};
}

const std::byte* SafetensorsFile::aligned_data(const SafetensorsTensor& tensor, int element_bytes) const {
  if (!file_) return &kNowhere;
  const std::byte* data = file_->bytes().data() + tensor.offset;
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element_bytes) == 0) return data;
  const std::lock_guard lock(copies_mutex_);
  std::vector<std::uint64_t>& copy = copies_[&tensor];
  if (copy.empty()) {
    copy.resize(ceil_div(tensor.bytes, sizeof(std::uint64_t)) + 1);  // one more: an empty tensor's pointer is not null either
    std::memcpy(copy.data(), data, tensor.bytes);
  }
  return reinterpret_cast<const std::byte*>(copy.data());
}

}  // namespace conclave
