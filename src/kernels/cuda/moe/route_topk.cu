// Routing on the device: the rules of moe/routing.h, a warp for each token, scores by way of float64 as the reference has them.
#include <cuda_runtime.h>

#include "base/check.h"
#include "device/cuda/stream_cuda.h"
#include "kernels/cuda/moe/launch.h"

namespace conclave::cuda {
namespace {

// The values of moe::Score, moe::Renorm and moe::GroupScore, as RouteArgs carries them.
enum class Score : std::uint8_t { softmax, sigmoid, sqrt_softplus, identity };
constexpr std::uint8_t kNoRenorm = 0, kSoftmaxOfChosen = 2, kBestOfGroup = 0;

constexpr unsigned kAll = 0xffffffffu;
constexpr float kHighest = 3.402823466e38f;

__device__ __forceinline__ float lowest() { return __int_as_float(0xff800000); }
__device__ __forceinline__ float taken() { return __int_as_float(0x7fc00000); }  // NaN: no longer a candidate

// +inf counts as the largest float; NaN stays.
__device__ __forceinline__ float usable(float logit) { return logit > kHighest ? kHighest : logit; }

__device__ __forceinline__ double warp_sum(double value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAll, value, step);
  return value;
}
__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(kAll, value, step));
  return value;
}

// The index of the largest key, of equals the lowest; candidates that are NaN are passed over. -1: none is left.
__device__ int arg_max(const float* keys, int n, int lane) {
  float best = 0.0f;
  int at = -1;
  for (int i = lane; i < n; i += 32)
    if (!isnan(keys[i]) && (at < 0 || keys[i] > best)) {
      best = keys[i];
      at = i;
    }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kAll, best, step);
    const int other_at = __shfl_xor_sync(kAll, at, step);
    if (other_at >= 0 && (at < 0 || other > best || (other == best && other_at < at))) {
      best = other;
      at = other_at;
    }
  }
  return at;
}

__device__ float score_of(Score score, double z) {
  if (score == Score::sigmoid) return static_cast<float>(1.0 / (1.0 + exp(-z)));
  if (score == Score::sqrt_softplus) return static_cast<float>(sqrt(fmax(z, 0.0) + log1p(exp(-fabs(z)))));
  return static_cast<float>(z);
}

__device__ void softmax_scores(const float* logits, int n, float largest, float* scores, int lane) {
  double sum = 0.0;
  for (int e = lane; e < n; e += 32)
    if (!isnan(logits[e])) sum += exp(static_cast<double>(logits[e]) - largest);
  sum = warp_sum(sum);
  for (int e = lane; e < n; e += 32) scores[e] = static_cast<float>(exp(static_cast<double>(logits[e]) - largest) / sum);
}

// Takes the keys of all groups but the best ones. One lane does it: there are few groups.
__device__ void keep_best_groups(const RouteArgs& args, float* keys, float* group_keys, int lane) {
  const int size = args.experts / args.groups;
  for (int g = lane; g < args.groups; g += 32) {
    float best = lowest(), second = lowest();
    for (int i = 0; i < size; ++i) {
      const float key = keys[g * size + i];
      second = key > best ? best : fmaxf(second, key);
      best = fmaxf(best, key);
    }
    group_keys[g] = args.group_score == kBestOfGroup || size == 1 ? best : best + second;
  }
  __syncwarp();
  std::uint32_t* kept = reinterpret_cast<std::uint32_t*>(group_keys + args.groups);  // a flag for each group
  for (int g = lane; g < args.groups; g += 32) kept[g] = 0;
  for (int k = 0; k < args.top_groups; ++k) {
    __syncwarp();
    const int g = arg_max(group_keys, args.groups, lane);
    __syncwarp();
    if (lane == 0) {
      group_keys[g] = taken();
      kept[g] = 1;
    }
  }
  __syncwarp();
  for (int e = lane; e < args.experts; e += 32)
    if (kept[e / size] == 0) keys[e] = taken();
  __syncwarp();
}

__global__ void __launch_bounds__(32) route_topk(const __grid_constant__ RouteArgs args) {
  extern __shared__ float memory[];
  float *logits = memory, *scores = memory + args.experts, *keys = memory + 2 * args.experts,
        *group_keys = memory + 3 * args.experts;
  const int lane = static_cast<int>(threadIdx.x), token = static_cast<int>(blockIdx.x), n = args.experts, k = args.top_k;
  for (std::int64_t i = static_cast<std::int64_t>(token) * 32 + lane; i < args.state_words;
       i += static_cast<std::int64_t>(gridDim.x) * 32)
    args.state[i] = 0;

  const std::int64_t row = token * args.logits_stride;
  float largest = lowest();
  for (int e = lane; e < n; e += 32) {
    const float z = args.bf16_logits ? __int_as_float(static_cast<int>(static_cast<const bf16*>(args.logits)[row + e].bits) << 16)
                                     : static_cast<const float*>(args.logits)[row + e];
    logits[e] = usable(z);
    largest = fmaxf(largest, logits[e]);
  }
  largest = warp_max(largest);
  std::int32_t* ids = args.ids + static_cast<std::int64_t>(token) * k;
  float* weights = args.weights + static_cast<std::int64_t>(token) * k;
  if (largest == lowest()) {  // nothing to choose by
    for (int j = lane; j < k; j += 32) {
      ids[j] = j;
      weights[j] = 0.0f;
    }
    return;
  }
  __syncwarp();
  const bool of_chosen = args.renorm == kSoftmaxOfChosen;
  if (!of_chosen && args.score == static_cast<std::uint8_t>(Score::softmax)) {
    softmax_scores(logits, n, largest, scores, lane);
  } else {
    for (int e = lane; e < n; e += 32) scores[e] = of_chosen ? logits[e] : score_of(static_cast<Score>(args.score), logits[e]);
  }
  for (int e = lane; e < n; e += 32) {
    const float key = (args.select_by_logit ? logits[e] : scores[e]) + (args.bias != nullptr ? args.bias[e] : 0.0f);
    keys[e] = isnan(key) ? lowest() : key;
  }
  __syncwarp();
  if (args.groups > 1) keep_best_groups(args, keys, group_keys, lane);

  int chosen = 0;  // lane j holds choice j
  for (int j = 0; j < k; ++j) {
    const int e = arg_max(keys, n, lane);
    if (lane == j) chosen = e;
    __syncwarp();
    if (lane == 0) keys[e] = taken();
    __syncwarp();
  }
  double weight = 0.0;
  if (lane < k) {
    const float value = scores[chosen];
    weight = isnan(value) || value == lowest() ? 0.0 : static_cast<double>(value);
  }
  if (of_chosen) {
    const float z = lane < k ? logits[chosen] : lowest(), most = warp_max(isnan(z) ? lowest() : z);
    weight = lane < k && !isnan(z) && most != lowest() ? exp(static_cast<double>(z) - most) : 0.0;
  }
  double factor = args.scale;
  if (args.renorm != kNoRenorm) {
    double sum = 0.0;  // in the order of the choices, as the reference adds
    for (int j = 0; j < k; ++j) sum += __shfl_sync(kAll, weight, j);
    if (of_chosen)
      weight = sum > 0.0 ? static_cast<double>(static_cast<float>(weight / sum)) : 0.0;
    else
      factor *= sum == 0.0 ? 0.0 : 1.0 / (sum + 1e-20);
  }
  if (lane < k) {
    ids[lane] = chosen;
    weights[lane] = static_cast<float>(static_cast<float>(weight) * factor);
  }
}

}  // namespace

void launch_route(const RouteArgs& args, Stream& stream) noexcept {
  const std::size_t bytes =
      (3 * static_cast<std::size_t>(args.experts) + 2 * static_cast<std::size_t>(args.groups)) * sizeof(float);
  cudaError_t status = cudaFuncSetAttribute(route_topk, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (status == cudaSuccess) {
    route_topk<<<static_cast<unsigned>(args.tokens), 32, bytes, static_cast<CudaStream&>(stream).handle()>>>(args);
    status = cudaGetLastError();
  }
  CONCLAVE_CHECK(status == cudaSuccess, cudaGetErrorString(status));
}

}  // namespace conclave::cuda
