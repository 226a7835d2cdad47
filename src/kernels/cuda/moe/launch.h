#pragma once
// Launching the expert kernels of CUDA devices. No CUDA type is named here, so any room above may include it.
#include <cstddef>
#include <cstdint>

#include "base/bf16.h"
#include "device/stream.h"

namespace conclave::cuda {

// One call takes at most so many tokens, and so many (token, choice) pairs.
inline constexpr int kMaxCallTokens = 64;
inline constexpr int kMaxCallPairs = 512;

enum class ActivationKind : std::int32_t { silu, gelu, gelu_tanh, relu2, swiglu_oai, identity };

struct ActivationArgs {
  ActivationKind kind = ActivationKind::silu;
  bool gated = true;
  float alpha = 0.0f, beta = 0.0f, limit = 0.0f;  // as ActivationSpec; limit 0: none
};

// An experts call: out = sum over a token's choices of weight * down(act(gate x, up x)). All pointers are device memory.
struct ExpertsArgs {
  // Packed units (fp4_units.h), experts [local_first, local_first + local_count). Not gated: pairs of tiles of up alone.
  const std::byte* gate_up = nullptr;
  const std::byte* down = nullptr;
  const float* unscale = nullptr;  // [local_count, 3]: what turns sums of gate, up, down into values
  const float *gate_bias = nullptr, *up_bias = nullptr, *down_bias = nullptr;  // [local_count, I | I | H], or null
  const bf16* hidden = nullptr;                                                // [tokens, H]; rows 16-byte aligned
  bf16* out = nullptr;                                                         // [tokens, H], overwritten
  const std::int32_t* ids = nullptr;  // [tokens, top_k], of the model; those that are not local contribute nothing
  const float* weights = nullptr;     // [tokens, top_k]
  bf16* inner = nullptr;              // [pairs, I]
  float* partial = nullptr;           // [down_chunks, pairs, H]
  std::uint32_t* state = nullptr;     // [kExpertsStateWords]: zeros before the first call, and left fit for the next
  std::int64_t hidden_stride = 0, out_stride = 0;
  std::int32_t tokens = 0, top_k = 0, experts = 0, local_first = 0, local_count = 0;
  std::int32_t hidden_size = 0, inter_size = 0;  // H and I, multiples of 16
  std::int32_t down_chunks = 1;                  // parts that the columns of down are summed in; divides ceil(I / 128)
  std::int32_t blocks = 0;                       // of the grid: what prepare_experts_*() returned
  bool weight_on_input = false;
  ActivationArgs activation;
};

inline constexpr std::int64_t kExpertsStateWords = 1;

// Once for every device, before the first launch: how many blocks a call runs on. Throws Error{device}.
int prepare_experts_nvfp4();
int prepare_experts_mxfp4();

// Two phases in one cooperative kernel, in order after what the stream holds.
void launch_experts_nvfp4(const ExpertsArgs&, Stream&) noexcept;
void launch_experts_mxfp4(const ExpertsArgs&, Stream&) noexcept;

// Routing as moe/routing.h defines it, one warp for a token. The kinds are the values of its enums.
struct RouteArgs {
  const void* logits = nullptr;  // [tokens, experts] f32 or bf16
  const float* bias = nullptr;   // [experts], or null
  std::int32_t* ids = nullptr;   // [tokens, top_k]
  float* weights = nullptr;
  std::uint32_t* state = nullptr;  // zeroed too: ExpertsArgs::state
  std::int64_t logits_stride = 0, state_words = 0;
  std::int32_t tokens = 0, experts = 0, top_k = 0, groups = 1, top_groups = 1;
  std::uint8_t score = 0, renorm = 0, group_score = 0;
  bool bf16_logits = false, select_by_logit = false;
  float scale = 1.0f;
};
inline constexpr int kMaxRouteTopK = 32;
void launch_route(const RouteArgs&, Stream&) noexcept;

}  // namespace conclave::cuda
