#include "tests/ops/attention_case.h"

#include <numeric>

#include "base/math.h"

namespace conclave::test {
namespace {
constexpr std::int32_t kPages = 4096;
}

AttentionCase::AttentionCase(const AttentionSpec& spec, DType dtype, std::int32_t page_tokens, unsigned seed)
    : spec_(spec),
      dtype_(dtype),
      page_tokens_(page_tokens),
      random_(seed),
      free_pages_(static_cast<std::size_t>(kPages / page_tokens)) {
  std::iota(free_pages_.begin(), free_pages_.end(), 0);
  std::shuffle(free_pages_.begin(), free_pages_.end(), random_);
}

void AttentionCase::add(std::int32_t context, std::int32_t rows, std::vector<float> q, const std::vector<float>& k,
                        const std::vector<float>& v) {
  Sequence sequence{context, rows, std::move(q), k, v, {}};
  for (std::int32_t p = 0; p < ceil_div(context, page_tokens_); ++p) {
    sequence.pages.push_back(free_pages_.back());
    free_pages_.pop_back();
  }
  sequences_.push_back(std::move(sequence));
}

void AttentionCase::add_random(std::int32_t context, std::int32_t rows) {
  const Shape kv{context, spec_.kv_heads, spec_.head_dim};
  add(context, rows, Tensor::random({rows, spec_.heads, spec_.head_dim}, random_).values, Tensor::random(kv, random_).values,
      Tensor::random(kv, random_).values);
}

std::int64_t AttentionCase::first_row(std::size_t sequence) const {
  std::int64_t row = 0;
  for (std::size_t i = 0; i < sequence; ++i) row += sequences_[i].rows;
  return row;
}

AttentionCase::Cache AttentionCase::write(Bench& bench) const {
  Cache cache;
  const Shape shape{kPages / page_tokens_, page_tokens_, spec_.kv_heads, spec_.head_dim};
  const auto bytes = static_cast<std::size_t>(shape.elements() * size_of(dtype_));
  cache.memory.assign(2 * bytes, std::byte{0xff});
  PagedKv& kv = cache.kv;
  kv = {TensorView(cache.memory.data(), dtype_, shape), TensorView(cache.memory.data() + bytes, dtype_, shape), page_tokens_};
  const bool latent = spec_.value_dim > 0;
  if (latent) kv.v = kv.k;
  if (dtype_ == DType::f8e4m3) {
    kv.k_scale = 0.02f;
    kv.v_scale = latent ? kv.k_scale : 0.03f;
  }
  for (const Sequence& s : sequences_) {  // half of it first, the rest as a second step
    for (const auto& [begin, end] : {std::pair<std::int32_t, std::int32_t>{0, s.context / 2}, {s.context / 2, s.context}}) {
      const SequenceRows rows{0, end - begin, end, s.pages};
      const Batch batch{{}, {}, {&rows, 1}, {}};
      const auto part = [&, begin = begin, end = end](const std::vector<float>& all) {
        const auto width = static_cast<std::ptrdiff_t>(spec_.kv_heads) * spec_.head_dim;
        return Tensor({end - begin, spec_.kv_heads, spec_.head_dim}, {all.begin() + begin * width, all.begin() + end * width});
      };
      const Tensor k = part(s.k), v = latent ? k : part(s.v);
      bench.ops().write_kv(k.view(), latent ? ConstTensorView{} : v.view(), batch, kv, bench.stream());
    }
  }
  return cache;
}

Tensor AttentionCase::attend(Bench& bench, const PagedKv& kv, const std::vector<SequenceRows>& rows, const Tensor& q) const {
  std::int64_t longest = 0;
  for (const SequenceRows& r : rows) longest = std::max<std::int64_t>(longest, r.context);
  Tensor out({q.shape[0], spec_.heads, spec_.values()});
  Workspace workspace = bench.workspace(bench.ops().attention_workspace_bytes(spec_, q.shape[0], longest));
  bench.ops().attention(q.view(), kv, Batch{{}, {}, rows, {}}, spec_, out.view(), workspace, bench.stream());
  return out;
}

Tensor AttentionCase::run(Bench& bench, const Cache& cache, std::size_t first_sequence, std::size_t count) const {
  std::vector<SequenceRows> rows;
  std::vector<float> q;
  for (const Sequence& s : sequences_) {
    const std::int32_t first = rows.empty() ? 0 : rows.back().first_row + rows.back().rows;
    rows.push_back({first, s.rows, s.context, s.pages});
    q.insert(q.end(), s.q.begin(), s.q.end());
  }
  const std::int64_t tokens = rows.empty() ? 0 : rows.back().first_row + rows.back().rows;
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first_sequence);
  return attend(bench, cache.kv, {begin, begin + static_cast<std::ptrdiff_t>(count)},
                Tensor({tokens, spec_.heads, spec_.head_dim}, std::move(q)));
}

Tensor AttentionCase::read_keys(Bench& bench, const Cache& cache, std::size_t sequence, std::int64_t first,
                                std::int64_t count) const {
  Tensor out({count, spec_.kv_heads, spec_.head_dim});
  bench.ops().read_keys(cache.kv, sequences_[sequence].pages, first, out.view(), bench.stream());
  return out;
}

std::vector<float> AttentionCase::keys(std::size_t sequence, std::int64_t first, std::int64_t count) const {
  const auto width = static_cast<std::ptrdiff_t>(spec_.kv_heads) * spec_.head_dim;
  const auto begin = sequences_[sequence].k.begin() + first * width;
  return {begin, begin + count * width};
}

Tensor AttentionCase::run_alone(Bench& bench, const Cache& cache, std::size_t sequence, std::int32_t row) const {
  const Sequence& s = sequences_[sequence];
  const auto width = static_cast<std::ptrdiff_t>(spec_.heads) * spec_.head_dim;
  const Tensor q({1, spec_.heads, spec_.head_dim}, {s.q.begin() + row * width, s.q.begin() + (row + 1) * width});
  return attend(bench, cache.kv, {{0, 1, s.context - s.rows + row + 1, s.pages}}, q);
}

}  // namespace conclave::test
