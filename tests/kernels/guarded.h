#pragma once
// An array that ends where an inaccessible page begins: a read or write past its end is a fault, not a lucky value.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace conclave::test {

template <class T>
class Guarded {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Guarded(std::size_t count = 0) : count_(count) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t usable = (count * sizeof(T) + page - 1) / page * page;
    mapped_ = usable + page;
    base_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    ::mprotect(static_cast<std::byte*>(base_) + usable, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(static_cast<std::byte*>(base_) + usable - count * sizeof(T));
  }
  explicit Guarded(const std::vector<T>& values) : Guarded(values.size()) { std::copy(values.begin(), values.end(), data_); }
  ~Guarded() {
    if (base_ != nullptr) ::munmap(base_, mapped_);
  }
  Guarded(Guarded&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), data_(other.data_), count_(other.count_), mapped_(other.mapped_) {}
  Guarded& operator=(Guarded&&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() const { return data_; }
  T* end() const { return data_ + count_; }

 private:
  void* base_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0, mapped_ = 0;
};

}  // namespace conclave::test
