#pragma once
// Middle part of the pipeline: the experts themselves. They know no routing and no rank: tokens in, one row per slot out.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/device.h"
#include "device/workspace.h"
#include "moe/problem.h"
#include "moe/weights.h"

namespace conclave::moe {

struct Dispatched {
  ConstTensorView tokens;  // f32 [R, H]
  ConstTensorView ids;     // i32 [R, K]: index of a local expert; every other value contributes nothing and reads nothing
};

struct ExpertRows {
  ConstTensorView rows;    // f32 [pairs, H], down(act(gate, up)) + bias of each pair that was computed, not weighted
  ConstTensorView row_of;  // i32 [R, K]: which row; -1: none
};

class Experts {
 public:
  virtual ~Experts() = default;
  virtual std::size_t workspace_bytes(std::int64_t tokens) const = 0;
  // The result lies in the workspace and lives as long as the caller's Scope.
  virtual ExpertRows run(const Dispatched&, Workspace&, Stream&) const noexcept = 0;
  virtual std::string describe() const = 0;
  virtual bool in_place() const noexcept = 0;  // as MoeKernel
};

// Packed weights and the kernels of the host's instruction set, float32 activations. Experts are packed by all threads of the
// device, a CPU.
std::unique_ptr<Experts> make_cpu_experts(const MoeProblem&, const ExpertWeights&, Device&);

// 4-bit weights in tiles (ops/cpu/tiled_matrix.h) and activations as 16-bit integers with a scale for every 16 columns, multiplied
// exactly. What the rounding of activations may add to the relative error of a row is kTiledRounding.
inline constexpr double kTiledRounding = 0x1p-13;  // measured: up to 2^-14 in the conformance suite
std::unique_ptr<Experts> make_cpu_tiled_experts(const MoeProblem&, const ExpertWeights&, Device&);

}  // namespace conclave::moe
