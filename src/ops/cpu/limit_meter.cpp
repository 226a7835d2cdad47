#include "ops/cpu/limit_meter.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "base/check.h"
#include "device/memory.h"
#include "device/stream.h"
#include "kernels/cpu/dispatch.h"

namespace conclave {
namespace {

constexpr std::int64_t kPiece = std::int64_t{16} << 20;

std::int64_t buffer_size(std::int64_t wanted) {
  return std::max<std::int64_t>(1, std::min(wanted, usable_memory() / 4) / kPiece) * kPiece;
}

// Seconds that the region took.
template <class Body>
double timed(ThreadPool& pool, std::int64_t tasks, Body body) noexcept {
  const auto begin = std::chrono::steady_clock::now();
  pool.for_each(tasks, body);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Operations per second of a loop over registers, two for each product and its sum.
double rate_of(ThreadPool& pool, std::int64_t (*loop)(std::int64_t, double*) noexcept, std::int64_t rounds) noexcept {
  constexpr std::int64_t kTasksPerThread = 16;  // some hundred microseconds each
  std::atomic<std::int64_t> products{0};
  const double seconds = timed(pool, pool.size() * kTasksPerThread, [&](std::int64_t, int) noexcept {
    double sum = 0.0;
    const std::int64_t done = loop(rounds, &sum);
    CONCLAVE_CHECK(sum == static_cast<double>(done));
    products += done;
  });
  return 2.0 * static_cast<double>(products.load()) / seconds;
}

}  // namespace

LimitMeter::LimitMeter(Device& device, std::int64_t bytes)
    : kernels_(kernel_table(device.caps().isa)),
      stream_(device.new_stream()),
      buffer_(device.allocate(static_cast<std::size_t>(buffer_size(bytes)))) {
  CONCLAVE_CHECK(!device.caps().cuda);
  // Pages that nobody has written are all the same page of zeros.
  pool_of(*stream_).for_each(buffer_bytes() / kPiece, [&](std::int64_t piece, int) noexcept {
    std::memset(buffer_.data() + piece * kPiece, 0x5a, static_cast<std::size_t>(kPiece));
  });
}

LimitSample LimitMeter::sample() noexcept {
  ThreadPool& pool = pool_of(*stream_);
  std::atomic<std::uint64_t> found{0};
  const double seconds = timed(pool, buffer_bytes() / kPiece, [&](std::int64_t piece, int) noexcept {
    found ^= kernels_.read_streams(reinterpret_cast<const std::uint8_t*>(buffer_.data()) + piece * kPiece, kPiece);
  });
  CONCLAVE_CHECK(found == 0);  // an even number of equal words
  LimitSample out;
  out.read = static_cast<double>(buffer_bytes()) / seconds;
  constexpr std::int64_t kRounds = 200000;
  out.floats = rate_of(pool, kernels_.multiply_adds, kRounds);
  out.bytes = rate_of(pool, kernels_.byte_products, kRounds);
  return out;
}

}  // namespace conclave
