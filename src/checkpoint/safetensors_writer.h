#pragma once
// Writes tensors to one safetensors file, byte for byte as the reference implementation lays it out.
#include <filesystem>
#include <span>
#include <string>

#include "tensor/view.h"

namespace conclave {

struct NamedTensor {
  std::string name;      // UTF-8, unique, not "__metadata__"
  ConstTensorView view;  // contiguous, in host memory
};

// The file appears whole or not at all: it is written beside its place and renamed. Throws Error{device} when it cannot be
// written.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace conclave
