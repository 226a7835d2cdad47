#pragma once
// Symbol visibility of the installed library.
#if defined(__GNUC__)
#define CONCLAVE_EXPORT __attribute__((visibility("default")))
#else
#define CONCLAVE_EXPORT
#endif
