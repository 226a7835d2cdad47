#pragma once
// tests/data/fixtures/formats: numbers computed outside of this project (FORMATS.md beside them says how).
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/safetensors_file.h"
#include "quant/elements.h"

namespace conclave {

class FormatsFixture : public ::testing::Test {
 protected:
  static const SafetensorsFile& file() {
    static const SafetensorsFile opened(
        MappedFile::open(std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/fixtures/formats/formats.safetensors"));
    return opened;
  }

  static ConstTensorView view(const std::string& name) {
    const auto found = file().find(name);
    if (!found) throw std::runtime_error("formats.safetensors has no " + name);
    return *found;
  }
  // The same bytes under another type: the file stores E4M3 and E8M0 as u8.
  static ConstTensorView view_as(const std::string& name, DType dtype) {
    ConstTensorView v = view(name);
    v.dtype = dtype;
    return v;
  }
  static std::vector<float> floats(const std::string& name) {
    const ConstTensorView v = view(name);
    std::vector<float> out;
    for (std::int64_t i = 0; i < v.shape.elements(); ++i) out.push_back(load_float(v, i));
    return out;
  }
};

// How many bytes of two tensors of the same size differ.
inline std::int64_t differing_bytes(const ConstTensorView& a, const ConstTensorView& b) {
  if (a.bytes() != b.bytes()) return std::max(a.bytes(), b.bytes());
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < a.bytes(); ++i) different += a.data[i] != b.data[i] ? 1 : 0;
  return different;
}

}  // namespace conclave
