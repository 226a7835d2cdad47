#pragma once
// The only seam through which nn/ computes: a few coarse operations, one implementation per device plus the slow reference
// that judges them. Shapes: T rows (tokens of a batch), activations row-major. On a CPU activations are float32.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/support.h"
#include "device/device.h"
#include "device/workspace.h"
#include "ops/batch.h"
#include "ops/paged_kv.h"
#include "quant/matrix.h"
#include "tensor/view.h"

namespace conclave {

// The packed weights of one linear map y = W x (+ bias), built once for one device.
class Linear {
 public:
  virtual ~Linear() = default;
  virtual std::int64_t rows() const noexcept = 0;  // N, outputs
  virtual std::int64_t cols() const noexcept = 0;  // K, inputs
  virtual std::size_t workspace_bytes(std::int64_t tokens) const = 0;
  // x [T, K] -> out [T, N], overwritten. T = 0 does nothing.
  virtual void run(ConstTensorView x, TensorView out, Workspace&, Stream&) const noexcept = 0;
  virtual std::string describe() const = 0;  // "nvfp4, avx2"
  // Whether run() reads the published codes; when it has its own, theirs need not stay in memory.
  virtual bool in_place() const noexcept { return true; }
};

// Rotary position embedding of one layer: which dimensions, which pairs, which angles.
struct Rope {
  int head_dim = 0;
  int rotary_dim = 0;               // the first so many of a head's dimensions are turned, the rest pass
  bool interleaved = false;         // pairs (2i, 2i+1); otherwise (i, i + rotary_dim / 2)
  std::span<const float> inv_freq;  // [rotary_dim / 2], scaling (llama3, YaRN, ...) already applied
  float magnitude = 1.0f;           // multiplies cos and sin (YaRN)
};

struct AttentionSpec {
  int heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 0.0f;            // multiplies q.k before the softmax
  std::int32_t window = 0;       // a row sees the last `window` positions, itself included; 0: all
  std::int32_t chunk = 0;        // a row sees only positions of its own chunk of this many; 0: all
  std::span<const float> sinks;  // [heads] logits that take part in the softmax and carry no value; empty: none
  int value_dim = 0;             // of a value and of the output's heads; 0: head_dim
  int values() const { return value_dim > 0 ? value_dim : head_dim; }
};

// What one head of a selective scan (Mamba-2, arXiv:2405.21060) does with a row t of its sequence, P = head_dim, N = state size,
// g = h / (heads / groups), the state S [P, N] beginning at zero:
//   delta = softplus(dt[t, h] + dt_bias[h])
//   S = exp(-exp(a_log[h]) * delta) * S + delta * x[t, h] b[t, g]^T
//   out[t, h] = S c[t, g] + d[h] * x[t, h]
// Rows of x, b, c and dt may be apart.
struct SelectiveScan {
  ConstTensorView x;                  // [T, heads, P]
  ConstTensorView b, c;               // [T, groups, N]
  ConstTensorView dt;                 // [T, heads]
  ConstTensorView a_log, dt_bias, d;  // [heads]
};

// Element-wise activation of a dense MLP; formulas as moe/problem.h states them.
enum class Elementwise : std::uint8_t { silu, gelu, gelu_tanh, relu2 };

class Ops {
 public:
  virtual ~Ops() = default;
  virtual std::string_view name() const noexcept = 0;  // "cpu-avx2", "reference"

  // Repacks here. `bias` [N] f32 or bf16, or empty. Throws Error.
  virtual std::unique_ptr<Linear> make_linear(const QuantMatrix& weight, ConstTensorView bias) const = 0;
  // Linear::workspace_bytes() of a map of this format and so many inputs, for plans, which make none.
  virtual std::size_t linear_workspace_bytes(const QuantScheme&, std::int64_t cols, std::int64_t tokens) const = 0;

  // ids [T], each in [0, table.rows) -> out [T, H].
  virtual void embed(const QuantMatrix& table, std::span<const std::int32_t> ids, TensorView out, Stream&) const noexcept = 0;

  // x * rsqrt(mean(x^2) + eps) * weight over the last dimension of [.., D], rows contiguous; weight [D] f32, or empty (all ones).
  // out may be x.
  virtual void rms_norm(ConstTensorView x, ConstTensorView weight, float eps, TensorView out, Stream&) const noexcept = 0;

  // x += y, same shapes.
  virtual void add(TensorView x, ConstTensorView y, Stream&) const noexcept = 0;

  // x[t] *= sigmoid(gate[t]) for every row; x [T, D], gate [T, 1].
  virtual void scale_by_sigmoid(TensorView x, ConstTensorView gate, Stream&) const noexcept = 0;

  // x[t] *= factors[t]; x [T, ...], all that belongs to one t contiguous.
  virtual void scale_rows(TensorView x, std::span<const float> factors, Stream&) const noexcept = 0;

  // out = act(gate) * up; all [T, D]; gate empty: out = act(up). out may be up.
  virtual void activate(Elementwise, ConstTensorView gate, ConstTensorView up, TensorView out, Stream&) const noexcept = 0;

  // Turns x [T, heads, head_dim] in place by positions [T].
  virtual void rope(TensorView x, std::span<const std::int32_t> positions, const Rope&, Stream&) const noexcept = 0;

  // Stores k, v [T, kv_heads, head_dim] of the batch's rows at their positions in the cache (rounding to its dtype). v empty: the
  // cache's values are part of its keys.
  virtual void write_kv(ConstTensorView k, ConstTensorView v, const Batch&, const PagedKv&, Stream&) const noexcept = 0;

  // The keys at positions [first, first + n) of a sequence with these pages -> out [n, kv_heads, head_dim], as float32.
  virtual void read_keys(const PagedKv&, std::span<const std::int32_t> pages, std::int64_t first, TensorView out,
                         Stream&) const noexcept = 0;

  // Causal attention of q [T, heads, head_dim] over the cache, which already holds the batch's own rows
  // -> out [T, heads, value_dim]. The sequences may be some of those that q and out have rows of, one after the other: rows of
  // others are neither read nor written.
  virtual void attention(ConstTensorView q, const PagedKv&, const Batch&, const AttentionSpec&, TensorView out, Workspace&,
                         Stream&) const noexcept = 0;
  virtual std::size_t attention_workspace_bytes(const AttentionSpec&, std::int64_t tokens, std::int64_t max_context) const = 0;

  // Causal depthwise convolution over the rows of each sequence: out[t, c] = bias[c] + sum_k weight[c, k] * x[t - W + 1 + k, c].
  // x, out [T, C]; weight [C, W], W > 1; bias [C]. history [slots, W - 1, C] f32: the rows of x before the batch's, zero where a
  // sequence begins; it becomes the last W - 1 rows seen. Rows of x may be apart; out is not x.
  virtual void causal_conv(ConstTensorView x, ConstTensorView weight, ConstTensorView bias, const Batch&, TensorView history,
                           TensorView out, Stream&) const noexcept = 0;

  // The scan of all heads -> out [T, heads, P]; state [slots, heads, P, N] f32 is S, before and after the batch's rows.
  virtual void selective_scan(const SelectiveScan&, const Batch&, TensorView state, TensorView out, Stream&) const noexcept = 0;

  // out = x, same shapes [T, D], both possibly with rows apart.
  virtual void copy_rows(ConstTensorView x, TensorView out, Stream&) const noexcept = 0;

  // Copies rows ids [R] of x [T, D] to out [R, D].
  virtual void gather_rows(ConstTensorView x, std::span<const std::int32_t> ids, TensorView out, Stream&) const noexcept = 0;
};

// The fast operations of a device, and the float32 reference (scalar code, float64 sums, weights decoded by their codecs).
std::unique_ptr<Ops> make_cpu_ops(const DeviceCaps&);
// Whether there are operations for a device at all; asked also of devices that are not here.
Support has_ops(const DeviceCaps&);
std::unique_ptr<Ops> make_reference_ops();

}  // namespace conclave
