#pragma once
// Move-only owner of bytes on one device.
#include <cstddef>
#include <utility>

namespace conclave {

class Buffer {
 public:
  using Release = void (*)(void* data, std::size_t bytes) noexcept;

  Buffer() = default;
  Buffer(void* data, std::size_t bytes, bool on_device, Release release) noexcept
      : data_(data), bytes_(bytes), on_device_(on_device), release_(release) {}
  Buffer(Buffer&& o) noexcept { swap(o); }
  Buffer& operator=(Buffer&& o) noexcept {
    Buffer taken(std::move(o));
    swap(taken);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) release_(data_, bytes_);
  }

  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  std::size_t size() const noexcept { return bytes_; }
  bool on_device() const noexcept { return on_device_; }

 private:
  void swap(Buffer& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    std::swap(on_device_, o.on_device_);
    std::swap(release_, o.release_);
  }
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool on_device_ = false;
  Release release_ = nullptr;
};

// Host memory, 64-byte aligned, zeroed lazily by the operating system; large buffers ask for huge pages.
// Throws Error{out_of_memory} with the size.
Buffer allocate_host(std::size_t bytes);

}  // namespace conclave
