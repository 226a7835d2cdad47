#pragma once
// The header of one safetensors file: which tensors lie where. Format: https://github.com/huggingface/safetensors#format
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {

struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // as written; possibly one that we do not know
  std::vector<std::int64_t> shape;
  std::size_t offset = 0;  // of the first byte, in the file
  std::size_t bytes = 0;
};

// Sorted by name. Reads the header only. What it promises of every tensor, whatever the bytes of the file:
//   [offset, offset + bytes) lies in the file; tensors do not overlap and leave no gap, as the reference implementation asks;
//   the extents are not negative and the product of those that are not zero fits; where the type is known, bytes is the
//   product of the extents times the width.
// Throws Error{corrupt} with all problems of the file. Memory stays within a small multiple of the header's size.
std::vector<SafetensorsTensor> read_safetensors_header(std::span<const std::byte> file, std::string_view file_name);
// The same of a file of which `head`, with the header in it, was read.
std::vector<SafetensorsTensor> read_safetensors_header(std::span<const std::byte> head, std::uint64_t file_bytes,
                                                       std::string_view file_name);

// A file begins with the header's length in so many bytes.
inline constexpr std::size_t kSafetensorsLengthBytes = 8;
// Up to the end of the header, whose length `head` begins with. Throws Error{corrupt} when that cannot be.
std::size_t safetensors_head_bytes(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view file_name);

}  // namespace conclave
