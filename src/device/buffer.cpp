#include "device/buffer.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/math.h"
#include "conclave/error.h"
#include "device/memory.h"

namespace conclave {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// From here on memory is mapped, not taken from the heap: zeros cost nothing until they are touched.
constexpr std::size_t kMapFrom = std::size_t{1} << 20;

[[noreturn]] void throw_out_of_memory(std::size_t bytes) {
  throw Error(Errc::out_of_memory,
              fmt::format("{:.1f} MiB of memory were needed and could not be had (this process may take {:.1f} MiB "
                          "more); use a smaller model, a shorter context or fewer sequences",
                          static_cast<double>(bytes) / 0x1p20, static_cast<double>(usable_memory()) / 0x1p20));
}

// Whether so much is left. The system is asked again once so much was handed out since it last was: it answers slowly.
bool fits(std::size_t bytes) {
  constexpr std::size_t kAskAfter = std::size_t{64} << 20;
  static std::atomic<std::size_t> handed_out{kAskAfter};
  if (bytes < kAskAfter && handed_out.fetch_add(bytes, std::memory_order_relaxed) < kAskAfter) return true;
  handed_out.store(0, std::memory_order_relaxed);
  return bytes <= static_cast<std::size_t>(usable_memory());
}

void release_heap(void* data, std::size_t) noexcept { std::free(data); }
void release_map(void* data, std::size_t bytes) noexcept { ::munmap(data, round_up(bytes, kPage)); }

// Starts at a multiple of the huge page size when it is large enough to hold one: only then can the kernel use them.
void* map_zeros(std::size_t bytes) {
  const std::size_t length = round_up(bytes, kPage);
  const std::size_t slack = length >= kHugePage ? kHugePage - kPage : 0;
  void* mapped = ::mmap(nullptr, length + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (slack == 0) return mapped;
  auto* begin = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::size_t head = round_up<std::uintptr_t>(address, kHugePage) - address;
  if (head != 0) ::munmap(begin, head);
  if (head != slack) ::munmap(begin + head + length, slack - head);
  ::madvise(begin + head, length, MADV_HUGEPAGE);  // a wish: refusal changes nothing but speed
  return begin + head;
}

}  // namespace

Buffer allocate_host(std::size_t bytes) {
  if (bytes == 0) return {};
  if (bytes < kMapFrom) {
    void* data = std::aligned_alloc(kAlignment, round_up(bytes, kAlignment));
    if (data == nullptr) throw_out_of_memory(bytes);
    std::memset(data, 0, bytes);
    return {data, bytes, false, release_heap};
  }
  void* data = fits(bytes) ? map_zeros(bytes) : nullptr;
  if (data == nullptr) throw_out_of_memory(bytes);
  return {data, bytes, false, release_map};
}

}  // namespace conclave
