#include "device/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "conclave/error.h"

namespace conclave {
namespace {

TEST(Buffer, HostMemoryIsAlignedAndZero) {
  for (std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{100'000}, (std::size_t{1} << 20) - 1,
                            std::size_t{1} << 20, (std::size_t{2} << 20) + 5, std::size_t{9'999'999}}) {
    Buffer buffer = allocate_host(bytes);
    ASSERT_EQ(buffer.size(), bytes);
    EXPECT_FALSE(buffer.on_device());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u) << bytes;
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + bytes, [](std::byte b) { return b == std::byte{0}; })) << bytes;
    std::memset(buffer.data(), 0x5a, bytes);
  }
}

TEST(Buffer, LargeMemoryCanUseHugePages) {
  const Buffer buffer = allocate_host(std::size_t{8} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % (std::size_t{2} << 20), 0u);
}

TEST(Buffer, NothingIsEmpty) {
  const Buffer buffer = allocate_host(0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
}

TEST(Buffer, MovesItsOwnership) {
  Buffer a = allocate_host(128);
  std::byte* const data = a.data();
  Buffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
  Buffer c = allocate_host(64);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  EXPECT_EQ(c.size(), 128u);
}

TEST(Buffer, ReleasesExactlyOnce) {
  static int released;
  released = 0;
  static int memory;
  {
    Buffer a(&memory, sizeof memory, true, [](void*, std::size_t) noexcept { ++released; });
    Buffer b = std::move(a);
    Buffer c;
    c = std::move(b);
    EXPECT_TRUE(c.on_device());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Buffer, WhatCannotBeHadIsAnErrorInWords) {
  for (std::size_t bytes :
       {std::size_t{1} << 50, std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() - 4096}) {
    try {
      const Buffer buffer = allocate_host(bytes);
      FAIL() << "gave " << bytes;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Errc::out_of_memory);
      EXPECT_NE(std::string(e.what()).find("MiB"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace conclave
