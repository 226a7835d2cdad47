#pragma once
// An array that ends where an inaccessible page begins: a read or write past its end is a fault, not a lucky value.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace conclave::test {

// Zeroed pages before a guard page. Mapping is slow where many processes do it, so regions are kept for the next taker.
class GuardedPages {
 public:
  // The end of `pages` usable pages.
  static std::byte* take(std::size_t pages) {
    std::vector<std::byte*>& kept = free_regions()[pages];
    const std::size_t bytes = pages * page_size();
    if (kept.empty()) {
      void* base = ::mmap(nullptr, bytes + page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (base == MAP_FAILED || ::mprotect(static_cast<std::byte*>(base) + bytes, page_size(), PROT_NONE) != 0)
        throw std::bad_alloc();
      return static_cast<std::byte*>(base) + bytes;
    }
    std::byte* end = kept.back();
    kept.pop_back();
    std::memset(end - bytes, 0, bytes);
    return end;
  }
  static void give_back(std::byte* end, std::size_t pages) { free_regions()[pages].push_back(end); }
  static std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

 private:
  static std::map<std::size_t, std::vector<std::byte*>>& free_regions() {
    static std::map<std::size_t, std::vector<std::byte*>> regions;  // by pages; mapped until the process ends
    return regions;
  }
};

template <class T>
class Guarded {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Guarded(std::size_t count = 0)
      : count_(count),
        pages_((count * sizeof(T) + GuardedPages::page_size() - 1) / GuardedPages::page_size()),
        end_(GuardedPages::take(pages_)) {}
  explicit Guarded(const std::vector<T>& values) : Guarded(values.size()) { std::copy(values.begin(), values.end(), data()); }
  ~Guarded() {
    if (end_ != nullptr) GuardedPages::give_back(end_, pages_);
  }
  Guarded(Guarded&& other) noexcept : count_(other.count_), pages_(other.pages_), end_(std::exchange(other.end_, nullptr)) {}
  Guarded& operator=(Guarded&&) = delete;

  T* data() const { return reinterpret_cast<T*>(end_ - count_ * sizeof(T)); }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + count_; }

 private:
  std::size_t count_, pages_;
  std::byte* end_;
};

}  // namespace conclave::test
