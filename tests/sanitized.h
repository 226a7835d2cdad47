#pragma once
// Whether this program runs under a sanitizer: ten to fifty times slower. Tests that judge numbers then take a part of their rows
// (every path, fewer tokens), since the optimised build judges all of them.
namespace conclave {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace conclave
