#pragma once
// The element types of safetensors files: how they are written, how wide they are, which of them a tensor view can hold.
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace conclave {

struct SafetensorsDType {
  std::string_view name;
  int bits;                   // of one element; F4 and F6 are packed without padding
  std::optional<DType> held;  // nothing: readable in size only
};

// Null for a name that the format does not know; names are case-sensitive.
const SafetensorsDType* find_safetensors_dtype(std::string_view name) noexcept;

std::string_view safetensors_name(DType) noexcept;

// The order in which the reference implementation lays types out in a file, the greatest first.
int safetensors_layout_order(DType) noexcept;

}  // namespace conclave
