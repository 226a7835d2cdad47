#include "moe/pipeline/cuda_latency_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/math.h"
#include "kernels/cuda/moe/fp4_units.h"
#include "kernels/cuda/moe/launch.h"
#include "kernels/cuda/moe/pack_fp4.h"
#include "moe/plans/cuda_latency.h"
#include "quant/elements.h"

namespace conclave::moe {
namespace {

// What one 4-bit format needs of the kernels.
struct Format {
  bool mx;
  std::int64_t pair_bytes(std::int64_t cols) const { return mx ? cuda::mxfp4_pair_bytes(cols) : cuda::nvfp4_pair_bytes(cols); }
  int prepare() const { return mx ? cuda::prepare_experts_mxfp4() : cuda::prepare_experts_nvfp4(); }
  void launch(const cuda::ExpertsArgs& args, Stream& stream) const noexcept {
    mx ? cuda::launch_experts_mxfp4(args, stream) : cuda::launch_experts_nvfp4(args, stream);
  }
};

cuda::Fp4Source read_matrix(const QuantMatrix& m) {
  cuda::Fp4Source out{m.rows, m.cols, std::vector<e2m1>(static_cast<std::size_t>(m.rows * m.cols)), {}};
  const std::int64_t blocks = ceil_div<std::int64_t>(m.cols, m.scheme.scale_cols);
  out.scales.reserve(static_cast<std::size_t>(m.rows * blocks));
  for (std::int64_t r = 0; r < m.rows; ++r) {
    e2m1* codes = out.codes.data() + r * m.cols;
    for (std::int64_t c = 0; c < m.cols; c += 2) {
      const auto byte = load<std::uint8_t>(m.codes.data, offset_of(m.codes, r, c / 2));
      codes[c].code = byte & 15;
      codes[c + 1].code = byte >> 4;
    }
    for (std::int64_t b = 0; b < blocks; ++b) out.scales.push_back(load<std::uint8_t>(m.scales.data, offset_of(m.scales, r, b)));
  }
  return out;
}

int largest_scale(const cuda::Fp4Source& m) { return m.scales.empty() ? 0 : *std::max_element(m.scales.begin(), m.scales.end()); }

// What turns the kernel's sums over a matrix into values.
float unscale_of(const Format& format, const QuantMatrix& m, const cuda::Fp4Source& source) {
  return cuda::kWeightUnscale * (format.mx ? std::ldexp(1.0f, largest_scale(source) - 127) : m.global);
}

// All pairs of tiles of an expert's two sources: the same rows of both, or, of one source twice, neighbouring tiles.
std::vector<std::byte> pack(const Format& format, const cuda::Fp4Source& a, const cuda::Fp4Source& b) {
  const bool single = &a == &b;
  const std::int64_t rows = single ? 2 * cuda::kTileRows : cuda::kTileRows, pairs = ceil_div(a.rows, rows),
                     bytes = format.pair_bytes(a.cols);
  std::vector<std::byte> out(static_cast<std::size_t>(pairs * bytes));
  const int largest[2] = {largest_scale(a), largest_scale(b)};
  const cuda::Fp4Source* const sources[2] = {&a, &b};
  for (std::int64_t p = 0; p < pairs; ++p) {
    const std::int64_t tile_rows[2] = {p * rows, p * rows + (single ? cuda::kTileRows : 0)};
    if (format.mx)
      cuda::pack_mxfp4_pair(sources, tile_rows, largest, out.data() + p * bytes);
    else
      cuda::pack_nvfp4_pair(sources, tile_rows, out.data() + p * bytes);
  }
  return out;
}

void append_bias(std::vector<float>& to, const ConstTensorView& v) {
  for (std::int64_t i = 0; v && i < v.shape[0]; ++i) to.push_back(load_float(v, i * v.stride[0]));
}

class CudaLatencyKernel final : public MoeKernel {
 public:
  CudaLatencyKernel(const MoeProblem& problem, const ExpertWeights& weights, Device& device)
      : problem_(problem), format_{problem.weights == kMxfp4} {
    upload(weights, device);
  }

  std::size_t workspace_bytes(std::int64_t tokens) const override {
    const std::int64_t t = std::min(tokens, cuda_latency_tokens(problem_)), pairs = t * problem_.top_k;
    const auto words = [](std::int64_t n) { return Workspace::padded(static_cast<std::size_t>(n) * 4); };
    return words(cuda::kExpertsStateWords) + 2 * words(tokens * problem_.top_k) +
           Workspace::padded(static_cast<std::size_t>(pairs * problem_.inter) * sizeof(bf16)) +
           words(pairs * problem_.hidden * cuda_down_chunks(problem_, t, blocks_));
  }

  void run(const MoeCall& call, Workspace& workspace, Stream& stream) const noexcept override {
    const std::int64_t tokens = call.hidden.shape[0];
    if (tokens == 0) return;
    Workspace::Scope scope(workspace);
    const std::int64_t most = std::min(tokens, cuda_latency_tokens(problem_)), pairs = most * problem_.top_k;
    cuda::ExpertsArgs args = args_;
    args.down_chunks = cuda_down_chunks(problem_, most, blocks_);
    args.state = reinterpret_cast<std::uint32_t*>(workspace.take<std::int32_t>(cuda::kExpertsStateWords));
    auto* ids = workspace.take<std::int32_t>(tokens * problem_.top_k);
    auto* weights = workspace.take<float>(tokens * problem_.top_k);
    args.inner = workspace.take<bf16>(pairs * problem_.inter);
    args.partial = workspace.take<float>(pairs * problem_.hidden * args.down_chunks);
    route(call, ids, weights, args.state, stream);
    args.hidden_stride = call.hidden.stride[0];
    args.out_stride = call.out.stride[0];
    for (std::int64_t first = 0; first < tokens; first += most) {
      args.tokens = static_cast<std::int32_t>(std::min(most, tokens - first));
      args.hidden = call.hidden.row<const bf16>(first);
      args.out = call.out.row<bf16>(first);
      args.ids = ids + first * problem_.top_k;
      args.weights = weights + first * problem_.top_k;
      format_.launch(args, stream);
    }
  }

  std::string describe() const override {
    return fmt::format("sm_90 kernel, {} packed, bf16 activations", to_string(problem_.weights));
  }
  // An expert's inner values are rounded to bf16.
  double rounding() const noexcept override { return 0x1p-9; }
  bool in_place() const noexcept override { return false; }

 private:
  void upload(const ExpertWeights& weights, Device& device) {
    const MoeProblem& p = problem_;
    const std::int64_t inner_pairs = ceil_div(p.inter, p.activation.gated ? 16 : 32), outer_pairs = ceil_div(p.hidden, 32);
    const std::int64_t inner_bytes = inner_pairs * format_.pair_bytes(p.hidden),
                       outer_bytes = outer_pairs * format_.pair_bytes(p.inter);
    gate_up_ = device.allocate(static_cast<std::size_t>(inner_bytes * p.local_count));
    down_ = device.allocate(static_cast<std::size_t>(outer_bytes * p.local_count));
    blocks_ = format_.prepare();
    std::vector<float> unscale, gate_bias, up_bias, down_bias;
    for (std::size_t i = 0; i < weights.experts.size(); ++i) {
      const Expert& e = weights.experts[i];
      const cuda::Fp4Source up = read_matrix(e.up), gate = p.activation.gated ? read_matrix(e.gate) : cuda::Fp4Source{},
                            down = read_matrix(e.down);
      const std::vector<std::byte> inner = pack(format_, p.activation.gated ? gate : up, up), outer = pack(format_, down, down);
      CONCLAVE_CHECK(std::ssize(inner) == inner_bytes && std::ssize(outer) == outer_bytes);
      device.copy(gate_up_.data() + static_cast<std::int64_t>(i) * inner_bytes, inner.data(), inner.size());
      device.copy(down_.data() + static_cast<std::int64_t>(i) * outer_bytes, outer.data(), outer.size());
      unscale.insert(unscale.end(), {p.activation.gated ? unscale_of(format_, e.gate, gate) : 0.0f, unscale_of(format_, e.up, up),
                                     unscale_of(format_, e.down, down)});
      append_bias(gate_bias, e.gate_bias);
      append_bias(up_bias, e.up_bias);
      append_bias(down_bias, e.down_bias);
    }
    args_ = {};
    args_.gate_up = gate_up_.data();
    args_.down = down_.data();
    args_.unscale = put(unscale, device);
    args_.gate_bias = put(gate_bias, device);
    args_.up_bias = put(up_bias, device);
    args_.down_bias = put(down_bias, device);
    args_.top_k = p.top_k;
    args_.experts = p.experts;
    args_.local_first = p.local_first;
    args_.local_count = p.local_count;
    args_.hidden_size = p.hidden;
    args_.inter_size = p.inter;
    args_.blocks = blocks_;
    args_.weight_on_input = p.routing.weight_on_input;
    args_.activation = {kind_of(p.activation.kind), p.activation.gated, p.activation.alpha, p.activation.beta, p.activation.limit};
  }

  static cuda::ActivationKind kind_of(Activation kind) {
    switch (kind) {
      case Activation::silu: return cuda::ActivationKind::silu;
      case Activation::gelu: return cuda::ActivationKind::gelu;
      case Activation::gelu_tanh: return cuda::ActivationKind::gelu_tanh;
      case Activation::relu2: return cuda::ActivationKind::relu2;
      case Activation::swiglu_oai: return cuda::ActivationKind::swiglu_oai;
      case Activation::identity: break;
    }
    return cuda::ActivationKind::identity;
  }

  // Null for nothing.
  const float* put(const std::vector<float>& values, Device& device) {
    if (values.empty()) return nullptr;
    floats_.push_back(device.allocate(values.size() * sizeof(float)));
    device.copy(floats_.back().data(), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float));
    return reinterpret_cast<const float*>(floats_.back().data());
  }

  void route(const MoeCall& call, std::int32_t* ids, float* weights, std::uint32_t* state, Stream& stream) const noexcept {
    const RoutingSpec& r = problem_.routing;
    cuda::RouteArgs args;
    args.logits = call.router_logits.data;
    args.bias = r.selection_bias ? call.selection_bias.as<float>() : nullptr;
    args.ids = ids;
    args.weights = weights;
    args.state = state;
    args.logits_stride = call.router_logits.stride[0];
    args.state_words = cuda::kExpertsStateWords;
    args.tokens = static_cast<std::int32_t>(call.router_logits.shape[0]);
    args.experts = problem_.experts;
    args.top_k = problem_.top_k;
    args.groups = r.groups;
    args.top_groups = r.top_groups;
    args.score = static_cast<std::uint8_t>(r.score);
    args.renorm = static_cast<std::uint8_t>(r.renorm);
    args.group_score = static_cast<std::uint8_t>(r.group_score);
    args.bf16_logits = problem_.router_logits == DType::bf16;
    args.select_by_logit = r.select_by_logit;
    args.scale = r.scale;
    cuda::launch_route(args, stream);
  }

  MoeProblem problem_;
  Format format_;
  std::int32_t blocks_ = 0;
  Buffer gate_up_, down_;
  std::vector<Buffer> floats_;
  cuda::ExpertsArgs args_;  // all but what a call brings
};

}  // namespace

std::unique_ptr<MoeKernel> make_cuda_latency_kernel(const MoeProblem& problem, const ExpertWeights& weights, Device& device) {
  return std::make_unique<CudaLatencyKernel>(problem, weights, device);
}

}  // namespace conclave::moe
