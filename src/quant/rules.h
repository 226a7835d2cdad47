#pragma once
// What every quantisation announcement comes down to: which modules are in which format.
#include <string>
#include <vector>

#include "quant/module_patterns.h"
#include "quant/scheme.h"

namespace conclave {

// How one linear is stored, and what its input is rounded to. kF32 activations: not rounded at all (weight-only).
struct LinearScheme {
  QuantScheme weights = kBf16;
  QuantScheme activations = kF32;
  bool operator==(const LinearScheme&) const = default;
};

struct QuantRule {
  LinearScheme scheme;
  bool every_linear = false;  // else the modules that match
  ModulePatterns modules;
};

struct QuantRules {
  std::string method;            // for people: "ModelOpt NVFP4"; empty: nothing is quantised
  std::vector<QuantRule> rules;  // the first that matches counts
  ModulePatterns excluded;
  bool fp8_kv = false;
};

}  // namespace conclave
