#pragma once
// Named tensors in memory, for tests that need a checkpoint of a few tensors.
#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conclave/error.h"
#include "quant/tensor_source.h"

namespace conclave {

class TensorMap final : public TensorSource {
 public:
  template <class T>
  TensorMap& put(const std::string& name, Shape shape, const std::vector<T>& values) {
    return put_bytes(name, DTypeOf<T>::value, shape, values);
  }
  // Values stored as codes of another type: bytes as E4M3, 16-bit words as bf16.
  template <class Bits>
  TensorMap& put_bytes(const std::string& name, DType dtype, Shape shape, const std::vector<Bits>& codes) {
    CONCLAVE_CHECK(
        sizeof(Bits) == static_cast<std::size_t>(size_of(dtype)) && shape.elements() == static_cast<std::int64_t>(codes.size()),
        name);
    std::vector<std::byte> bytes(codes.size() * sizeof(Bits));
    if (!bytes.empty()) std::memcpy(bytes.data(), codes.data(), bytes.size());
    tensors_[name] = {std::move(bytes), dtype, shape};
    return *this;
  }
  void put_view(const std::string& name, ConstTensorView view) { views_[name] = view; }
  // find() throws for this name, as for a type that no DType names.
  void put_unsupported(const std::string& name) { unsupported_ = name; }
  void erase(const std::string& name) { tensors_.erase(name); }

  std::optional<ConstTensorView> find(std::string_view name) const override {
    if (name == unsupported_) throw Error(Errc::unsupported, "has element type F6_E2M3");
    if (const auto view = views_.find(std::string(name)); view != views_.end()) return view->second;
    const auto it = tensors_.find(std::string(name));
    if (it == tensors_.end()) return std::nullopt;
    return ConstTensorView{it->second.bytes.data(), it->second.dtype, it->second.shape};
  }

 private:
  struct Tensor {
    std::vector<std::byte> bytes;
    DType dtype;
    Shape shape;
  };
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, ConstTensorView> views_;
  std::string unsupported_;
};

}  // namespace conclave
