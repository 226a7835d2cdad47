#pragma once
// One way in: fused kernels and the modular pipeline are both a MoeKernel, and no caller ever asks which.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/support.h"
#include "device/device.h"
#include "device/workspace.h"
#include "moe/problem.h"
#include "moe/weights.h"

namespace conclave::moe {

// All that varies per call. T tokens; T = 0 is a valid call that does nothing.
struct MoeCall {
  ConstTensorView hidden;          // [T, H], dtype problem.io
  ConstTensorView router_logits;   // [T, E], dtype problem.router_logits
  ConstTensorView selection_bias;  // [E] f32, or empty
  TensorView out;                  // [T, H], dtype problem.io; overwritten. Only local experts contribute.
};

// A planned kernel for one layer: owns its packed weights, immutable after build, safe from any thread that brings its own
// workspace and stream.
class MoeKernel {
 public:
  virtual ~MoeKernel() = default;
  virtual std::size_t workspace_bytes(std::int64_t tokens) const = 0;
  virtual void run(const MoeCall&, Workspace&, Stream&) const noexcept = 0;
  // What runs, for people, without the backend's name: "avx2 kernels, nvfp4 in place".
  virtual std::string describe() const = 0;
  // What rounding activations inside may add to the relative error of a row, beyond the float32 sums of tolerance_of().
  virtual double rounding() const noexcept { return 0.0; }
  // Whether run() reads the published weights; when it has its own, theirs need not stay in memory.
  virtual bool in_place() const noexcept { return true; }
};

// What a backend is for. "latency" and "throughput" ask for the best of that kind; "auto" for the cheapest.
enum class Intent : std::uint8_t { reference, general, latency, throughput };

// A stateless description of one way to run experts. One const instance per backend, listed in backends.def.
class MoeBackend {
 public:
  virtual ~MoeBackend() = default;
  virtual std::string_view name() const = 0;
  virtual Intent intent() const = 0;
  // Pure: asked on machines that do not have the device.
  virtual Support supports(const MoeProblem&, const DeviceCaps&) const = 0;
  // Expected microseconds for a call of `tokens`; only the order matters.
  virtual double cost(const MoeProblem&, const DeviceCaps&, std::int64_t tokens) const = 0;
  // Repacks here and nowhere else. The device's threads are the callee's to use. The weights' pages may be given back
  // afterwards unless the kernel says that it looks at them in place; checkpoints stay mapped, so a kernel may. Throws Error.
  // Of weights that hold no expert at all it makes a kernel for a plan, which answers workspace_bytes() and is never run.
  virtual std::unique_ptr<MoeKernel> build(const MoeProblem&, const ExpertWeights&, Device&) const = 0;
};

std::span<const MoeBackend* const> builtin_backends();

}  // namespace conclave::moe
