#pragma once
// Environment variables are options by another door: a misspelt one must not be silently ignored.

namespace conclave::cli {

// Throws Error{bad_input} listing every CONCLAVE_* variable that does not exist, with the nearest one that does.
void check_environment();

}  // namespace conclave::cli
