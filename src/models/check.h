#pragma once
// Everything that can be known of a model before it is loaded: what is wrong with its files, how large it is, what would run it
// where, and over how many ranks it can be split.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "models/model.h"
#include "models/parallel_sizes.h"

namespace conclave {

struct CheckOptions {
  std::vector<std::string> devices;  // device/described_device.h; this machine comes first in any case
  std::string moe_backend = "auto";
  bool deep = false;             // read the values of scales too, not only names, types and shapes
  std::int32_t most_ranks = 16;  // of tensor and of expert parallelism
};

struct DeviceCheck {
  std::string device;
  std::vector<ModelReport::Line> decisions;  // the operations first, then one per kind of expert layer
  std::string refusal;                       // why nothing can run it there; "" when something can
};

struct ModelCheck {
  ModelDescription description;
  ModelSize size;                     // of what the configuration asks for, whatever the files hold
  std::vector<std::string> problems;  // all of them
  std::vector<std::string> notes;
  std::vector<DeviceCheck> devices;
  std::vector<ParallelSize> tensor_parallel, expert_parallel;
};

// What a rank holds at the least: what can be split in equal parts, the rest whole, without padding and the workspace of a step.
struct RankMemory {
  std::int64_t weights = 0, kv_values_per_token = 0;
};
// All matrices split; key-value heads as far as there are any.
RankMemory tensor_parallel_memory(const ModelCheck&, std::int32_t ranks);
// Routed experts split, everything else and the cache whole.
RankMemory expert_parallel_memory(const ModelCheck&, std::int32_t ranks);

// `weights`: the folder's own, or stand-ins (then nothing can be missing). Throws Error when the configuration cannot be read at
// all.
ModelCheck check_model(const Checkpoint& weights, const CheckOptions&);

}  // namespace conclave
