#pragma once
// The model built into the program: TinyMoE in NVFP4 (models/tinymoe/README.md), so that a bare machine has something to run.
#include <memory>
#include <string_view>

#include "io/file_set.h"

namespace conclave {

inline constexpr std::string_view kEmbeddedModelName = "tinymoe";

// The files of the built-in model; they are pages of the executable, read when touched.
std::unique_ptr<FileSet> embedded_model();

}  // namespace conclave
