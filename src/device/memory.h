#pragma once
// How much memory is left. Linux promises more and ends whoever uses it without a word, so large needs are compared with this
// first.
#include <cstdint>
#include <filesystem>

namespace conclave {

// Bytes that this process may still take: what the system has available (caches of files count, since it gives them up), what is
// left below the limits of the control groups, and what is left of the process's own limit of addresses (ulimit -v); the smallest,
// and never below 0. `root` is "/" but in tests.
std::int64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace conclave
