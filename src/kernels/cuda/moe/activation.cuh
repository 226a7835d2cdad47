#pragma once
// The function between an expert's two linears, in float32. Formulas: moe/activation.h.
#include "kernels/cuda/moe/launch.h"

namespace conclave::cuda {

__device__ __forceinline__ float activate(const ActivationArgs& spec, float x) {
  switch (spec.kind) {
    case ActivationKind::silu: return x / (1.0f + __expf(-x));
    case ActivationKind::gelu: return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case ActivationKind::gelu_tanh: return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case ActivationKind::relu2: return x > 0.0f ? x * x : 0.0f;
    case ActivationKind::swiglu_oai: return x / (1.0f + __expf(-spec.alpha * x));
    case ActivationKind::identity: break;
  }
  return x;
}

__device__ __forceinline__ float activate(const ActivationArgs& spec, float gate, float up) {
  if (spec.limit > 0.0f) {
    gate = fminf(gate, spec.limit);
    up = fminf(fmaxf(up, -spec.limit), spec.limit);
  }
  return activate(spec, gate) * (up + (spec.kind == ActivationKind::swiglu_oai ? spec.beta : 0.0f));
}

}  // namespace conclave::cuda
