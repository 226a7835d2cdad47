#pragma once
// The version of these headers; conclave::version() is that of the library in use.
#include "conclave/export.h"

#define CONCLAVE_VERSION_MAJOR 0
#define CONCLAVE_VERSION_MINOR 1
#define CONCLAVE_VERSION_PATCH 0

namespace conclave {

CONCLAVE_EXPORT const char* version() noexcept;  // "0.1.0"

}  // namespace conclave
