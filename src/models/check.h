#pragma once
// Everything that can be known of a model before it is loaded: what is wrong with its files, how large it is, what would run it
// where, and over how many ranks it can be split.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "models/model.h"
#include "models/parallel_sizes.h"

namespace conclave {

struct CheckOptions {
  std::vector<std::string> devices;  // device/described_device.h; this machine comes first in any case
  std::string moe_backend = "auto";
  StepSize step;  // that memory is counted for
  // Called now and then, also where nothing is read (then with 0 of 0); what it throws ends the check. May be empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
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

// `weights`: the folder's own, whose scales are read if they have values, or null: the configuration alone is looked at. Throws
// Error when it cannot be read at all, or has fewer positions than the step's context.
ModelCheck check_model(const FileSet&, const Checkpoint* weights, const CheckOptions&);

}  // namespace conclave
