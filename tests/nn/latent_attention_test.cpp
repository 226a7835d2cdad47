// The two forms of latent attention against one another and against the published formulas in float64.
#include "nn/latent_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace conclave {
namespace {

using Dims = LatentAttention::Dims;
using Form = LatentAttention::Form;
using Values = std::vector<float>;

constexpr std::int32_t kHidden = 48, kQueryRank = 20, kPageTokens = 5, kPages = 260;
constexpr float kScale = 0.21f;

struct Weights {
  Weights(const Dims& d, bool low_rank, std::mt19937& random) : dims(d) {
    std::normal_distribution<float> normal;
    const auto fill = [&](Values& v, std::int64_t n, std::int64_t inputs) {
      v.resize(static_cast<std::size_t>(n));
      for (float& x : v) x = normal(random) / std::sqrt(static_cast<float>(inputs));
    };
    const std::int64_t query = std::int64_t{d.heads} * d.expanded_key(), in = low_rank ? kQueryRank : kHidden;
    if (low_rank) {
      fill(q_a, kQueryRank * kHidden, kHidden);
      fill(q_norm, kQueryRank, 1);
    }
    fill(q, query * in, in);
    fill(kv_a, d.absorbed_key() * kHidden, kHidden);
    fill(kv_norm, d.latent, 1);
    fill(kv_b, std::int64_t{d.heads} * (d.nope_dim + d.value_dim) * d.latent, d.latent);
    fill(o, std::int64_t{kHidden} * d.heads * d.value_dim, d.heads * d.value_dim);
    inv_freq.resize(static_cast<std::size_t>(d.rope_dim / 2));
    for (std::size_t i = 0; i < inv_freq.size(); ++i)
      inv_freq[i] = std::pow(100.0f, -static_cast<float>(2 * i) / static_cast<float>(d.rope_dim));
  }
  Dims dims;
  Values q_a, q_norm, q, kv_a, kv_norm, kv_b, o, inv_freq;
};

// A sequence whose tokens come in chunks of these lengths.
struct Sequence {
  std::vector<std::int32_t> chunks;
  Values x{};  // [tokens, kHidden]
  std::int32_t tokens() const { return std::accumulate(chunks.begin(), chunks.end(), 0); }
};

using Row = std::vector<double>;

Row product(const Values& matrix, const Row& x) {
  Row y(matrix.size() / x.size());
  for (std::size_t r = 0; r < y.size(); ++r)
    for (std::size_t c = 0; c < x.size(); ++c) y[r] += static_cast<double>(matrix[r * x.size() + c]) * x[c];
  return y;
}

void normalise(Row& x, const Values& weight) {
  double squares = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) squares += x[i] * x[i];
  for (std::size_t i = 0; i < weight.size(); ++i)
    x[i] *= static_cast<double>(weight[i]) / std::sqrt(squares / static_cast<double>(weight.size()) + 1e-6);
}

void turn(double* x, std::int64_t position, const Values& inv_freq) {
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double angle = static_cast<double>(static_cast<float>(position) * inv_freq[i]);
    const double a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * std::cos(angle) - b * std::sin(angle);
    x[2 * i + 1] = b * std::cos(angle) + a * std::sin(angle);
  }
}

// Every head with keys and values of its own, as the model is published: x [tokens, H] of a whole sequence -> [tokens, H].
Values twin(const Weights& w, const Values& x) {
  const Dims& d = w.dims;
  const auto nope = static_cast<std::size_t>(d.nope_dim), value = static_cast<std::size_t>(d.value_dim),
             key = static_cast<std::size_t>(d.expanded_key()), latent = static_cast<std::size_t>(d.latent);
  std::vector<Row> expanded, rotary;
  Values out;
  for (std::size_t p = 0; p < x.size() / kHidden; ++p) {
    const Row in(x.begin() + static_cast<std::ptrdiff_t>(p) * kHidden, x.begin() + static_cast<std::ptrdiff_t>(p + 1) * kHidden);
    Row kv = product(w.kv_a, in);
    normalise(kv, w.kv_norm);
    turn(kv.data() + latent, static_cast<std::int64_t>(p), w.inv_freq);
    rotary.emplace_back(kv.begin() + d.latent, kv.end());
    kv.resize(latent);
    expanded.push_back(product(w.kv_b, kv));
    Row low = in;
    if (!w.q_a.empty()) {
      low = product(w.q_a, in);
      normalise(low, w.q_norm);
    }
    Row q = product(w.q, low), mixed(static_cast<std::size_t>(d.heads) * value);
    for (std::size_t h = 0; h < static_cast<std::size_t>(d.heads); ++h) {
      const double* const query = q.data() + h * key;
      turn(q.data() + h * key + nope, static_cast<std::int64_t>(p), w.inv_freq);
      const std::size_t base = h * (nope + value);
      Row score(p + 1);
      for (std::size_t j = 0; j <= p; ++j) {
        for (std::size_t i = 0; i < nope; ++i) score[j] += query[i] * expanded[j][base + i];
        for (std::size_t i = nope; i < key; ++i) score[j] += query[i] * rotary[j][i - nope];
        score[j] *= static_cast<double>(kScale);
      }
      const double most = *std::max_element(score.begin(), score.end());
      double sum = 0;
      for (double& s : score) sum += s = std::exp(s - most);
      for (std::size_t j = 0; j <= p; ++j)
        for (std::size_t i = 0; i < value; ++i) mixed[h * value + i] += score[j] / sum * expanded[j][base + nope + i];
    }
    for (double v : product(w.o, mixed)) out.push_back(static_cast<float>(v));
  }
  return out;
}

QuantMatrix matrix(const Values& values, std::int64_t rows) {
  QuantMatrix m;
  m.scheme = kF32;
  m.rows = rows;
  m.cols = static_cast<std::int64_t>(values.size()) / rows;
  m.codes = ConstTensorView(reinterpret_cast<const std::byte*>(values.data()), DType::f32, {m.rows, m.cols});
  return m;
}

// The block with the device, the cache and the memory that it needs to run.
class Bench {
 public:
  Bench(const Weights& w, Form form, bool reference, DType cache_type)
      : device_(open_cpu_device(2)),
        ops_(reference ? make_reference_ops() : make_cpu_ops(device_->caps())),
        stream_(device_->new_stream()),
        block_({}),
        cache_(*device_, spec(w.dims, cache_type), kPages, 0) {
    LatentAttention::Parts& p = block_.parts();
    p.dims = w.dims;
    p.form = form;
    p.cache_layer = 1;
    p.scale = kScale;
    p.rope.inv_freq = w.inv_freq;
    const auto linear = [&](const Values& values, std::int64_t rows) { return ops_->make_linear(matrix(values, rows), {}); };
    if (!w.q_a.empty()) {
      p.q_a = linear(w.q_a, kQueryRank);
      set(p.q_norm, w.q_norm);
    }
    p.q = linear(w.q, w.dims.heads * w.dims.expanded_key());
    p.kv_a = linear(w.kv_a, w.dims.absorbed_key());
    set(p.kv_norm, w.kv_norm);
    p.o = linear(w.o, kHidden);
    block_.set_up_projection(matrix(w.kv_b, w.dims.heads * (w.dims.nope_dim + w.dims.value_dim)), *ops_);
  }

  // Runs the sequences chunk by chunk, all those together that have a chunk left; the rows of each in the order of its tokens.
  std::vector<Values> run(const std::vector<Sequence>& sequences) {
    std::vector<std::vector<std::int32_t>> pages(sequences.size());
    for (std::int32_t page = kPages; page-- > 0;) pages[static_cast<std::size_t>(page) % pages.size()].push_back(page);
    std::vector<Values> out(sequences.size());
    for (std::size_t step = 0;; ++step) {
      std::vector<SequenceRows> rows;
      std::vector<std::int32_t> positions;
      std::vector<std::size_t> whose;
      Values x;
      for (std::size_t s = 0; s < sequences.size(); ++s) {
        if (step >= sequences[s].chunks.size()) continue;
        const auto before = static_cast<std::int32_t>(out[s].size()) / kHidden, count = sequences[s].chunks[step];
        rows.push_back({static_cast<std::int32_t>(positions.size()), count, before + count, pages[s], 0});
        whose.push_back(s);
        for (std::int32_t i = 0; i < count; ++i) positions.push_back(before + i);
        x.insert(x.end(), sequences[s].x.begin() + before * kHidden, sequences[s].x.begin() + (before + count) * kHidden);
      }
      if (rows.empty()) return out;
      const Values y = run(x, rows, positions);
      for (std::size_t i = 0; i < rows.size(); ++i)
        out[whose[i]].insert(out[whose[i]].end(), y.begin() + rows[i].first_row * kHidden,
                             y.begin() + (rows[i].first_row + rows[i].rows) * kHidden);
    }
  }

  std::size_t workspace_bytes(std::int64_t tokens, std::int64_t context) const {
    return block_.workspace_bytes(*ops_, tokens, context);
  }
  std::size_t peak() const { return peak_; }  // of the last step

 private:
  Values run(const Values& x, const std::vector<SequenceRows>& rows, const std::vector<std::int32_t>& positions) {
    const auto tokens = static_cast<std::int64_t>(positions.size());
    std::int64_t longest = 0;
    for (const SequenceRows& r : rows) longest = std::max<std::int64_t>(longest, r.context);
    Workspace workspace(device_->allocate(block_.workspace_bytes(*ops_, tokens, longest)));
    Batch batch;
    batch.sequences = rows;
    batch.positions = positions;
    Values out(x.size());
    block_.run(ConstTensorView(reinterpret_cast<const std::byte*>(x.data()), DType::f32, {tokens, kHidden}),
               {batch, cache_, {*ops_, *stream_, workspace}},
               TensorView(reinterpret_cast<std::byte*>(out.data()), DType::f32, {tokens, kHidden}));
    peak_ = workspace.peak();
    return out;
  }
  static KvSpec spec(const Dims& d, DType type) {
    KvSpec spec;
    spec.layers = 2;
    spec.kv_heads = 1;
    spec.head_dim = d.absorbed_key();
    spec.latent_values = d.latent;
    spec.page_tokens = kPageTokens;
    spec.dtype = type;
    spec.k_scales = spec.v_scales = {1.0f, 0.02f};
    return spec;
  }
  void set(Parameter& slot, const Values& values) {
    slot.buffer = device_->allocate(values.size() * sizeof(float));
    std::memcpy(slot.buffer.data(), values.data(), values.size() * sizeof(float));
    slot.view = TensorView(slot.buffer.data(), DType::f32, {static_cast<std::int64_t>(values.size())});
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Stream> stream_;
  LatentAttention block_;
  KvCache cache_;
  std::size_t peak_ = 0;
};

// Relative to the largest value of the row, which is what the sums of a row round to.
double worst_difference(const std::vector<Values>& a, const std::vector<Values>& b) {
  double worst = 0;
  for (std::size_t s = 0; s < a.size(); ++s) {
    for (std::size_t row = 0; row < a[s].size(); row += kHidden) {
      double largest = 0, difference = 0;
      for (std::size_t i = row; i < row + kHidden; ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(b[s][i])));
        difference = std::max(difference, std::abs(static_cast<double>(a[s][i]) - static_cast<double>(b[s][i])));
      }
      worst = std::max(worst, difference / largest);
    }
  }
  return worst;
}

struct Case {
  const char* name;
  Dims dims;
  bool low_rank;
};
const Case kCases[] = {
    {"deepseek_like", {4, 16, 8, 16, 64}, true},
    {"no_low_rank", {3, 10, 4, 12, 33}, false},
    {"narrow_latent", {2, 24, 6, 20, 16}, false},
    {"one_head", {1, 7, 2, 5, 40}, true},
};

class LatentAttentionOf : public testing::TestWithParam<Case> {
 protected:
  // Whole prompts, chunks, single tokens, and contexts longer than what is expanded at a time.
  std::vector<Sequence> sequences() {
    std::vector<Sequence> all{{{3, 1, 1}}, {{280, 9, 2}}, {{1, 40}}, {{17, 1, 260}}};
    std::normal_distribution<float> normal;
    for (Sequence& s : all) {
      s.x.resize(static_cast<std::size_t>(s.tokens()) * kHidden);
      for (float& v : s.x) v = normal(random_);
    }
    return all;
  }
  std::mt19937 random_{21};
  const Weights weights_{GetParam().dims, GetParam().low_rank, random_};
};
INSTANTIATE_TEST_SUITE_P(Shapes, LatentAttentionOf, testing::ValuesIn(kCases),
                         [](const auto& i) { return std::string(i.param.name); });

TEST_P(LatentAttentionOf, EveryFormEqualsTheFormulas) {
  const std::vector<Sequence> all = sequences();
  std::vector<Values> want;
  for (const Sequence& s : all) want.push_back(twin(weights_, s.x));
  for (bool reference : {true, false}) {
    for (Form form : {Form::absorbed, Form::expanded, Form::cheaper}) {
      Bench bench(weights_, form, reference, DType::f32);
      EXPECT_LT(worst_difference(bench.run(all), want), 1e-5) << "form " << static_cast<int>(form) << ", reference " << reference;
    }
  }
}

// What the cache rounds, both forms see rounded. Scores of narrower types are not larger, so neither is the difference.
TEST_P(LatentAttentionOf, TheFormsAreEqualOverEveryCache) {
  const std::vector<Sequence> all = sequences();
  for (DType type : {DType::f32, DType::bf16, DType::f8e4m3}) {
    Bench absorbed(weights_, Form::absorbed, false, type), expanded(weights_, Form::expanded, false, type);
    EXPECT_LT(worst_difference(expanded.run(all), absorbed.run(all)), 1e-5) << to_string(type);
  }
}

TEST_P(LatentAttentionOf, ASequenceIsTheSameAloneAndAmongOthers) {
  const std::vector<Sequence> all = sequences();
  Bench together(weights_, Form::cheaper, false, DType::bf16);
  const std::vector<Values> want = together.run(all);
  for (std::size_t s = 0; s < all.size(); ++s) {
    Bench alone(weights_, Form::cheaper, false, DType::bf16);
    EXPECT_EQ(alone.run({all[s]})[0], want[s]) << "sequence " << s;
  }
}

// One row over a long context needs all that attention asks for; with many rows it can do with less.
TEST_P(LatentAttentionOf, TakesTheWorkspaceItAsksFor) {
  for (Form form : {Form::absorbed, Form::expanded}) {
    Bench bench(weights_, form, false, DType::bf16);
    bench.run({{{299, 1}, Values(300 * kHidden, 0.5f)}});
    EXPECT_EQ(bench.peak(), bench.workspace_bytes(1, 300)) << "form " << static_cast<int>(form);
  }
}

constexpr Dims kDeepSeek{128, 128, 64, 128, 512};

TEST(LatentForm, PromptsAndLongChunksAreExpandedAndDecodingIsNot) {
  for (std::int64_t tokens : {2, 64, 512, 4096, 163840}) EXPECT_TRUE(LatentAttention::expands(kDeepSeek, tokens, tokens)) << tokens;
  for (std::int64_t context : {1, 2, 100, 4096, 163840}) EXPECT_FALSE(LatentAttention::expands(kDeepSeek, 1, context)) << context;
  EXPECT_FALSE(LatentAttention::expands(kDeepSeek, 32, 4096));
  EXPECT_TRUE(LatentAttention::expands(kDeepSeek, 512, 4096));
  EXPECT_TRUE(LatentAttention::expands(kDeepSeek, 512, 163840));
}

// A row more saves 768 products with each position and costs 131072 for each token before the chunk: equal at 170.67 rows.
TEST(LatentForm, ChunksOf171TokensAreWorthExpandingAnyContext) {
  EXPECT_FALSE(LatentAttention::expands(kDeepSeek, 170, 1 << 24));
  EXPECT_TRUE(LatentAttention::expands(kDeepSeek, 171, 1 << 24));
}

// 2 latent = nope + value: as many products either way, and tokens of earlier chunks would be expanded again.
TEST(LatentForm, ANarrowLatentIsNeverExpanded) {
  for (std::int64_t rows : {1, 2, 500})
    for (std::int64_t before : {0, 1, 500}) EXPECT_FALSE(LatentAttention::expands({4, 64, 32, 64, 64}, rows, before + rows));
}

TEST(LatentForm, ExpandingNeedsMemoryOnlyForContextsThatAreExpanded) {
  std::mt19937 random(3);
  const Weights weights({4, 16, 8, 16, 64}, false, random);
  const Bench absorbed(weights, Form::absorbed, false, DType::bf16), cheaper(weights, Form::cheaper, false, DType::bf16);
  EXPECT_EQ(cheaper.workspace_bytes(1, 4096), absorbed.workspace_bytes(1, 4096));
  EXPECT_EQ(cheaper.workspace_bytes(8, 4096),
            cheaper.workspace_bytes(8, 1 << 20) - absorbed.workspace_bytes(8, 1 << 20) + absorbed.workspace_bytes(8, 4096));
}

}  // namespace
}  // namespace conclave
