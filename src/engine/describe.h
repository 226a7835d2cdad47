#pragma once
// ModelInfo of an engine: everything that was decided, in one place.
#include <string>
#include <vector>

#include "engine/loaded_model.h"
#include "engine/sampling_params.h"

namespace conclave {

ModelInfo describe(const LoadedModel&, const StepLimits&, const CacheLimits&, const SamplingDefaults&,
                   std::vector<std::string> notes);

}  // namespace conclave
