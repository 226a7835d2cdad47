#pragma once
// A small hybrid checkpoint with random weights in the layout of the public Nemotron-H models, for what the fixtures do not hold:
// layers of experts, and a folder that an engine can open in a fresh clone.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/json.h"

namespace conclave {

struct RandomHybrid {
  static constexpr std::int64_t kHidden = 64, kVocab = 96, kExperts = 6, kTopK = 2, kInter = 32, kShared = 48;

  // One letter per layer: M, *, - or E.
  explicit RandomHybrid(const std::string& pattern, unsigned seed = 1);

  Json config;
  struct Values {
    std::vector<std::int64_t> shape;
    std::vector<float> data;  // representable in bf16
  };
  std::map<std::string, Values> tensors;

  // Writes config.json and model.safetensors (bf16) to a new folder under the test's temporary folder.
  std::filesystem::path write(const std::string& name) const;
};

}  // namespace conclave
