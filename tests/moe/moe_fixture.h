#pragma once
// The MoE layer of a reference checkpoint, as a problem with its weights, and what numpy computed for it (float64, from the
// stored files, by code that shares nothing with ours).
#include <filesystem>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors_file.h"
#include "moe/problem.h"
#include "moe/weights.h"

namespace conclave::moe {

struct MoeFixture {
  MoeProblem problem;              // activations f32, io f32, logits f32
  ExpertWeights weights;           // views of the checkpoint
  QuantScheme activations = kF32;  // that the references "act.*" were made with; kF32: there are none
  ConstTensorView bias;            // [E] f32, or empty
  std::unique_ptr<Checkpoint> checkpoint;
  // in bf16 [T, H], router_logits f32 [T, E], topk_ids i32 and topk_weights f32 [T, K], routed_out, act.routed_out f32 [T, H].
  std::unique_ptr<SafetensorsFile> expected;

  ConstTensorView reference(const std::string& name) const;
};

// Throws Error, or a JSON exception, when the folder is not such a fixture.
MoeFixture load_moe_fixture(const std::filesystem::path& folder);

}  // namespace conclave::moe
