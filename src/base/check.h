#pragma once
// For our own bugs only, never for anything a user can cause: prints what was believed and where, then aborts.
#include <string>

namespace conclave {

[[noreturn]] void check_failed(const char* expression, const char* file, int line, const std::string& values) noexcept;

}  // namespace conclave

// CONCLAVE_CHECK(rows == cols, fmt::format("rows {} cols {}", rows, cols)): always on; the words are built only on failure.
#define CONCLAVE_CHECK(holds, ...) \
  (static_cast<bool>(holds) ? void(0) : ::conclave::check_failed(#holds, __FILE__, __LINE__, std::string{__VA_ARGS__}))

#ifdef NDEBUG
#define CONCLAVE_DCHECK(holds, ...) void(0)
#else
#define CONCLAVE_DCHECK(holds, ...) CONCLAVE_CHECK(holds, __VA_ARGS__)
#endif
