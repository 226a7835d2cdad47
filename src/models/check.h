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
  bool deep = false;  // read the values of scales too, not only names, types and shapes
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

// `weights`: the folder's own, or stand-ins (then nothing can be missing). Throws Error when the configuration cannot be read at
// all.
ModelCheck check_model(const Checkpoint& weights, const CheckOptions&);

}  // namespace conclave
