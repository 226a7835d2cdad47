// SafetensorsFile: any bytes give Error{corrupt}, or tensors whose every byte can be read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "checkpoint/safetensors_file.h"
#include "conclave/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const conclave::SafetensorsFile file(conclave::MappedFile::from_memory(std::as_bytes(std::span(data, size)), "fuzz"));
    unsigned sum = 0;
    for (const conclave::SafetensorsTensor& tensor : file.tensors()) {
      try {
        const conclave::ConstTensorView view = file.find(tensor.name).value();
        if (view.bytes() != static_cast<std::int64_t>(tensor.bytes) || !view.contiguous()) std::abort();
        for (std::int64_t i = 0; i < view.bytes(); ++i) sum += std::to_integer<unsigned>(view.data[i]);
      } catch (const conclave::Error& error) {
        if (error.code() != conclave::Errc::unsupported) std::abort();
      }
    }
    return sum == 0xffffffffu ? 1 : 0;  // so that the reads stay
  } catch (const conclave::Error& error) {
    if (error.code() != conclave::Errc::corrupt) std::abort();
  }
  return 0;
}
