#pragma once
// A bump arena for the temporaries of one step: sized once at load, never grows, take() never allocates.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "device/buffer.h"
#include "tensor/view.h"

namespace conclave {

class Workspace {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit Workspace(Buffer buffer) : buffer_(std::move(buffer)) {}

  // Uninitialised memory for `shape`, valid until the enclosing Scope ends. Running out is our bug: sizes were asked for at load.
  TensorView take(DType dtype, Shape shape) {
    const auto bytes = static_cast<std::size_t>(shape.elements() * size_of(dtype));
    CONCLAVE_CHECK(used_ + bytes <= buffer_.size());
    TensorView view(buffer_.data() + used_, dtype, shape, buffer_.on_device());
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (used_ > peak_) peak_ = used_;
    return view;
  }
  template <class T>
  T* take(std::int64_t count) {
    return take(DTypeOf<T>::value, Shape{count}).template as<T>();
  }
  // What take() will consume for so many bytes; sizes of a step are sums of these.
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  std::size_t size() const noexcept { return buffer_.size(); }
  std::size_t peak() const noexcept { return peak_; }

  // Everything taken after a Scope began is given back when it ends.
  class Scope {
   public:
    explicit Scope(Workspace& workspace) : workspace_(workspace), used_(workspace.used_) {}
    ~Scope() { workspace_.used_ = used_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Workspace& workspace_;
    std::size_t used_;
  };

 private:
  Buffer buffer_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace conclave
