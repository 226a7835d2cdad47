#include "checkpoint/safetensors_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "base/math.h"
#include "checkpoint/safetensors_dtype.h"
#include "conclave/error.h"
#include "io/json.h"

namespace conclave {
namespace {

// Widest types first, so that every tensor begins at a multiple of its element's size.
std::vector<const NamedTensor*> in_file_order(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> out;
  for (const NamedTensor& tensor : tensors) {
    CONCLAVE_CHECK(tensor.view.contiguous() && !tensor.view.on_device && tensor.name != "__metadata__", tensor.name);
    out.push_back(&tensor);
  }
  std::sort(out.begin(), out.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const int order_a = safetensors_layout_order(a->view.dtype), order_b = safetensors_layout_order(b->view.dtype);
    return order_a != order_b ? order_a > order_b : a->name < b->name;
  });
  return out;
}

void check_unique(std::span<const NamedTensor* const> tensors) {
  std::vector<std::string_view> names;
  for (const NamedTensor* tensor : tensors) names.push_back(tensor->name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  CONCLAVE_CHECK(twice == names.end(), std::string(*twice));
}

// The eight bytes of the length and the JSON, padded with spaces to a multiple of eight.
std::string header_bytes(std::span<const NamedTensor* const> tensors) {
  std::string text = "{";
  std::int64_t offset = 0;
  for (const NamedTensor* tensor : tensors) {
    const Shape& shape = tensor->view.shape;
    std::string extents;
    for (int i = 0; i < shape.rank(); ++i) extents += (i != 0 ? "," : "") + std::to_string(shape[i]);
    const std::int64_t end = offset + tensor->view.bytes();
    text += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", text.size() > 1 ? "," : "",
                        Json(tensor->name).dump(), safetensors_name(tensor->view.dtype), extents, offset, end);
    offset = end;
  }
  text += '}';
  text.resize(round_up<std::size_t>(text.size(), 8), ' ');
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return out + text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors) {
  const std::vector<const NamedTensor*> ordered = in_file_order(tensors);
  check_unique(ordered);
  const std::string header = header_bytes(ordered);
  std::error_code unknown;
  // To rename a file over /dev/null would take it away from everybody.
  if (const auto there = std::filesystem::status(path, unknown); exists(there) && !is_regular_file(there))
    throw Error(Errc::bad_input, fmt::format("cannot write '{}': it is there and is not a regular file", path.string()));
  const std::filesystem::path unfinished = path.string() + ".unfinished";
  errno = 0;
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const NamedTensor* tensor : ordered)
    out.write(reinterpret_cast<const char*>(tensor->view.data), static_cast<std::streamsize>(tensor->view.bytes()));
  out.close();
  std::error_code failed;
  if (out)
    std::filesystem::rename(unfinished, path, failed);
  else
    failed.assign(errno != 0 ? errno : EIO, std::generic_category());
  if (failed) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    throw Error(Errc::device, fmt::format("cannot write '{}': {}", path.string(), failed.message()));
  }
}

}  // namespace conclave
