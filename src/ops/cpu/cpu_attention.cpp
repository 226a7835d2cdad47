#include "ops/cpu/cpu_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.h"
#include "ops/cpu/kv_rows.h"

namespace conclave {
namespace {

constexpr std::int64_t kSpan = 256;  // positions; a span of keys and values stays in the second-level cache

// With fewer (row, KV head) pairs than this per thread, spans are spread over the threads too.
constexpr std::int64_t kPairsPerThread = 2;

std::int64_t group_of(const AttentionSpec& s) { return s.heads / s.kv_heads; }  // query heads that share a KV head

// Floats of one reduced span: `group` maxima, `group` sums, `group` values.
std::int64_t partial_floats(const AttentionSpec& s) { return round_up<std::int64_t>(group_of(s) * (s.values() + 2), 16); }

// Floats of one worker: scores of a span, one decoded row, the running softmax of a group, one reduced span.
std::int64_t worker_floats(const AttentionSpec& s) {
  return round_up<std::int64_t>(group_of(s) * (kSpan + 2) + std::max(s.head_dim, s.values()), 16) + partial_floats(s);
}

// Of the longest row, given the longest context.
std::int64_t most_spans(const AttentionSpec& s, std::int64_t context) {
  std::int64_t seen = context;
  if (s.window > 0) seen = std::min<std::int64_t>(seen, s.window);
  if (s.chunk > 0) seen = std::min<std::int64_t>(seen, s.chunk);
  return ceil_div(seen, kSpan);
}

struct Partial {
  Partial(float* memory, const AttentionSpec& s) : max(memory), sum(max + group_of(s)), acc(sum + group_of(s)) {}
  float* max;  // [group]
  float* sum;  // [group]
  float* acc;  // [group, value_dim]
};

struct WorkerMemory {
  WorkerMemory(float* memory, const AttentionSpec& s)
      : scores(memory),
        max(scores + group_of(s) * kSpan),
        sum(max + group_of(s)),
        decoded(sum + group_of(s)),
        partial(memory + worker_floats(s) - partial_floats(s), s) {}
  float* scores;   // [group, kSpan]
  float* max;      // [group], of the spans merged so far
  float* sum;      // [group]
  float* decoded;  // one key or value
  Partial partial;
};

// One row of the batch and one KV head.
struct Pair {
  std::int64_t row, kv_head;
  std::span<const std::int32_t> pages;
  std::int64_t begin, end;  // positions that the row sees
  std::int64_t spans() const { return ceil_div(end - begin, kSpan); }
};

class Attention {
 public:
  Attention(const KernelTable& kernels, ConstTensorView q, const PagedKv& kv, const Batch& batch, const AttentionSpec& spec,
            TensorView out)
      : kernels_(kernels), q_(q), kv_(kv), batch_(batch), spec_(spec), out_(out), group_(group_of(spec)) {}

  Pair pair(std::int64_t index) const noexcept {
    const std::int64_t row = batch_.sequences.front().first_row + index / spec_.kv_heads;
    const auto after = std::upper_bound(batch_.sequences.begin(), batch_.sequences.end(), row,
                                        [](std::int64_t r, const SequenceRows& s) { return r < s.first_row; });
    const SequenceRows& sequence = *(after - 1);
    const std::int64_t position = sequence.context - sequence.rows + (row - sequence.first_row);
    std::int64_t begin = 0;
    if (spec_.window > 0) begin = std::max(begin, position - spec_.window + 1);
    if (spec_.chunk > 0) begin = std::max(begin, position / spec_.chunk * spec_.chunk);
    return {row, index % spec_.kv_heads, sequence.pages, begin, position + 1};
  }

  // Reduces span `index` of the pair.
  void reduce(const Pair& pair, std::int64_t index, const WorkerMemory& memory, const Partial& to) const noexcept {
    const std::int64_t begin = pair.begin + index * kSpan, count = std::min(kSpan, pair.end - begin);
    score(pair, begin, count, memory);
    for (std::int64_t g = 0; g < group_; ++g) to.sum[g] = kernels_.exp_sum(memory.scores + g * kSpan, count, &to.max[g]);
    mix(pair, begin, count, memory, to.acc);
  }

  // The softmax over all spans, in order; partial_of(s) gives the reduced ones.
  template <class PartialOf>
  void merge(const Pair& pair, const WorkerMemory& memory, PartialOf partial_of) const noexcept {
    begin(pair, memory);
    for (std::int64_t s = 0; s < pair.spans(); ++s) {
      const Partial& partial = partial_of(s);
      for (std::int64_t g = 0; g < group_; ++g) add(partial, g, memory, out_row(pair, g));
    }
    for (std::int64_t g = 0; g < group_; ++g) {
      float* const out = out_row(pair, g);
      for (std::int64_t d = 0; d < spec_.values(); ++d) out[d] /= memory.sum[g];
    }
  }

 private:
  void score(const Pair& pair, std::int64_t begin, std::int64_t count, const WorkerMemory& memory) const noexcept {
    const float* const q = q_.row<float>(pair.row) + pair.kv_head * group_ * q_.stride[1];
    for (std::int64_t p = 0; p < count; ++p) {
      const std::byte* const row = kv_row(kv_.k, kv_.page_tokens, pair.pages, begin + p, pair.kv_head);
      const bool narrow = kv_.k.dtype == DType::bf16;
      const float* const key = narrow ? nullptr : as_floats(row, spec_.head_dim, kv_.k.dtype, kv_.k_scale, memory.decoded);
      for (std::int64_t g = 0; g < group_; ++g) {
        const float* const query = q + g * q_.stride[1];
        const float dot =
            narrow ? kernels_.dot_bf16(query, bits_of_bf16(row), spec_.head_dim) : kernels_.dot(query, key, spec_.head_dim);
        memory.scores[g * kSpan + p] = spec_.scale * dot;
      }
    }
  }

  // acc = sum of the values, each times what the softmax made of its score.
  void mix(const Pair& pair, std::int64_t begin, std::int64_t count, const WorkerMemory& memory, float* acc) const noexcept {
    std::fill_n(acc, group_ * spec_.values(), 0.0f);
    for (std::int64_t p = 0; p < count; ++p) {
      const std::byte* const row = kv_row(kv_.v, kv_.page_tokens, pair.pages, begin + p, pair.kv_head);
      const bool narrow = kv_.v.dtype == DType::bf16;
      const float* const value = narrow ? nullptr : as_floats(row, spec_.values(), kv_.v.dtype, kv_.v_scale, memory.decoded);
      for (std::int64_t g = 0; g < group_; ++g) {
        const float weight = memory.scores[g * kSpan + p];
        if (narrow) {
          kernels_.axpy_bf16(acc + g * spec_.values(), weight, bits_of_bf16(row), spec_.values());
        } else {
          kernels_.axpy(acc + g * spec_.values(), weight, value, spec_.values());
        }
      }
    }
  }

  // Before the first span. A sink takes part with weight 1 at its own logit, and brings no value.
  void begin(const Pair& pair, const WorkerMemory& memory) const noexcept {
    const bool sinks = !spec_.sinks.empty();
    for (std::int64_t g = 0; g < group_; ++g) {
      memory.max[g] =
          sinks ? spec_.sinks[static_cast<std::size_t>(pair.kv_head * group_ + g)] : -std::numeric_limits<float>::infinity();
      memory.sum[g] = sinks ? 1.0f : 0.0f;
      std::fill_n(out_row(pair, g), spec_.values(), 0.0f);
    }
  }

  // Adds head g of a reduced span to the running softmax.
  void add(const Partial& partial, std::int64_t g, const WorkerMemory& memory, float* out) const noexcept {
    const float together = std::max(memory.max[g], partial.max[g]);
    const float kept = std::exp(memory.max[g] - together), added = std::exp(partial.max[g] - together);
    memory.max[g] = together;
    memory.sum[g] = memory.sum[g] * kept + partial.sum[g] * added;
    const float* const acc = partial.acc + g * spec_.values();
    for (std::int64_t d = 0; d < spec_.values(); ++d) out[d] = out[d] * kept + acc[d] * added;
  }

  static const std::uint16_t* bits_of_bf16(const std::byte* row) { return reinterpret_cast<const std::uint16_t*>(row); }
  const float* as_floats(const std::byte* row, std::int64_t n, DType dtype, float scale, float* decoded) const noexcept {
    if (dtype == DType::f32) return reinterpret_cast<const float*>(row);
    decode_fp8_row(row, n, scale, decoded);
    return decoded;
  }
  float* out_row(const Pair& pair, std::int64_t g) const noexcept {
    return out_.row<float>(pair.row) + (pair.kv_head * group_ + g) * out_.stride[1];
  }

  const KernelTable& kernels_;
  ConstTensorView q_;
  const PagedKv& kv_;
  const Batch& batch_;
  const AttentionSpec& spec_;
  TensorView out_;
  std::int64_t group_;
};

}  // namespace

std::size_t cpu_attention_workspace_bytes(const AttentionSpec& spec, std::int64_t tokens, std::int64_t max_context, int threads) {
  if (tokens <= 0) return 0;
  const std::int64_t split_pairs = std::min<std::int64_t>(tokens * spec.kv_heads, kPairsPerThread * threads);
  return Workspace::padded(static_cast<std::size_t>(threads * worker_floats(spec)) * sizeof(float)) +
         Workspace::padded(static_cast<std::size_t>(split_pairs * most_spans(spec, max_context) * partial_floats(spec)) *
                           sizeof(float));
}

void cpu_attention(const KernelTable& kernels, ConstTensorView q, const PagedKv& kv, const Batch& batch, const AttentionSpec& spec,
                   TensorView out, Workspace& workspace, ThreadPool& pool) noexcept {
  std::int64_t rows = 0, longest = 0;
  for (const SequenceRows& sequence : batch.sequences) {
    rows += sequence.rows;
    longest = std::max<std::int64_t>(longest, sequence.context);
  }
  const std::int64_t pairs = rows * spec.kv_heads;
  if (pairs == 0) return;
  const std::int64_t spans = most_spans(spec, longest);
  const Attention attention(kernels, q, kv, batch, spec, out);
  const Workspace::Scope scope(workspace);
  auto* const worker_memory = workspace.take<float>(pool.size() * worker_floats(spec));
  const auto memory_of = [&](int worker) noexcept { return WorkerMemory(worker_memory + worker * worker_floats(spec), spec); };

  if (spans == 1 || pairs >= kPairsPerThread * pool.size()) {
    pool.for_each(pairs, [&](std::int64_t index, int worker) noexcept {
      const WorkerMemory memory = memory_of(worker);
      const Pair pair = attention.pair(index);
      attention.merge(pair, memory, [&](std::int64_t s) noexcept -> const Partial& {
        attention.reduce(pair, s, memory, memory.partial);
        return memory.partial;
      });
    });
    return;
  }
  auto* const partials = workspace.take<float>(pairs * spans * partial_floats(spec));
  const auto partial_at = [&](std::int64_t index, std::int64_t s) noexcept {
    return Partial(partials + (index * spans + s) * partial_floats(spec), spec);
  };
  pool.for_each(pairs * spans, [&](std::int64_t task, int worker) noexcept {
    const Pair pair = attention.pair(task / spans);
    if (task % spans < pair.spans())
      attention.reduce(pair, task % spans, memory_of(worker), partial_at(task / spans, task % spans));
  });
  pool.for_each(pairs, [&](std::int64_t index, int worker) noexcept {
    attention.merge(attention.pair(index), memory_of(worker), [&](std::int64_t s) noexcept { return partial_at(index, s); });
  });
}

}  // namespace conclave
