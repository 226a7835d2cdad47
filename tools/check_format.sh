#!/usr/bin/env bash
# Fails when a C++ file is not as .clang-format says. Only version 14 (Debian 12's) is compared with: versions differ.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! clang-format --version 2>/dev/null | grep -q 'version 14'; then
  echo "skipped: clang-format 14 is not here"
  exit 77
fi
find include src tests fuzz bench tools -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' | sort \
  | xargs clang-format --dry-run -Werror --style=file
