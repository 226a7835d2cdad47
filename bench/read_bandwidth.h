#pragma once
// The bound of everything that reads weights once.
#include <cstddef>
#include <cstdint>

#include "device/stream.h"

namespace conclave::bench {

// Reads whole chunks of 8 KiB of device memory; blocks: as many as there are multiprocessors.
void launch_read(const std::byte* data, std::int64_t bytes, int blocks, Stream&);

}  // namespace conclave::bench
