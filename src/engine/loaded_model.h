#pragma once
// Everything that is opened once and then only read: device, weights, tokenizer, template. Members are destroyed from the last
// to the first, so each outlives what uses it.
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "conclave/engine.h"
#include "device/device.h"
#include "engine/chat_prompt.h"
#include "engine/limits.h"
#include "models/model.h"
#include "ops/ops.h"
#include "text/tokenizer.h"

namespace conclave {

struct LoadedModel {
  std::string location;
  std::unique_ptr<Device> device;
  std::unique_ptr<Ops> ops;
  std::unique_ptr<Checkpoint> checkpoint;  // weights may be used where they lie in its files; null in tests
  std::unique_ptr<Model> model;
  std::unique_ptr<const Tokenizer> tokenizer;  // null: token ids only
  std::optional<ChatPrompt> chat_prompt;
  double load_seconds = 0.0;
  std::int64_t memory_bytes = 0;  // that may still be taken, by a cache first of all
};

// Throws Error.
LoadedModel load(const EngineOptions&, const StepLimits&);

}  // namespace conclave
