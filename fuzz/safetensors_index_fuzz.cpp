// parse_safetensors_index: any bytes give Error{corrupt}, or plain file names only.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "checkpoint/safetensors_index.h"
#include "conclave/error.h"
#include "io/file_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const conclave::SafetensorsIndex index = conclave::parse_safetensors_index(text, "fuzz");
    for (const auto& [file, tensors] : index)
      if (!conclave::is_plain_file_name(file) || tensors.empty()) std::abort();
    if (index.empty()) std::abort();
  } catch (const conclave::Error& error) {
    if (error.code() != conclave::Errc::corrupt) std::abort();
  }
  return 0;
}
