// The mixer against the published formulas in float64, sequence by sequence and without any cache.
#include "nn/mamba2_mixer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace conclave {
namespace {

constexpr std::int64_t kHidden = 24;
constexpr Mamba2Mixer::Dims kDims{.heads = 6, .head_dim = 4, .groups = 2, .state_size = 9, .conv_width = 3};

using Values = std::vector<float>;

double at(const Values& v, std::int64_t i) { return static_cast<double>(v[static_cast<std::size_t>(i)]); }
double silu(double x) { return x / (1.0 + std::exp(-x)); }

struct Weights {
  explicit Weights(std::mt19937& random) {
    std::normal_distribution<float> normal;
    const auto fill = [&](Values& v, std::int64_t n, float deviation) {
      v.resize(static_cast<std::size_t>(n));
      for (float& x : v) x = deviation * normal(random);
    };
    fill(in, kDims.projected() * kHidden, 0.3f);
    fill(out, kHidden * kDims.inner(), 0.3f);
    fill(conv, kDims.conv_channels() * kDims.conv_width, 0.5f);
    fill(bias, kDims.conv_channels(), 0.5f);
    fill(a_log, kDims.heads, 1.0f);
    fill(dt_bias, kDims.heads, 1.0f);
    fill(d, kDims.heads, 1.0f);
    fill(norm, kDims.inner(), 1.0f);
  }
  Values in, out, conv, bias, a_log, dt_bias, d, norm;
};

std::vector<double> product(const Values& matrix, const std::vector<double>& x) {
  std::vector<double> y(matrix.size() / x.size());
  for (std::size_t r = 0; r < y.size(); ++r)
    for (std::size_t c = 0; c < x.size(); ++c) y[r] += static_cast<double>(matrix[r * x.size() + c]) * x[c];
  return y;
}

// Gate, then norm by groups.
void gate_and_normalise(const Weights& w, const std::vector<double>& gate, std::vector<double>& y) {
  const auto width = static_cast<std::size_t>(kDims.inner() / kDims.groups);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= silu(gate[i]);
  for (std::size_t first = 0; first < y.size(); first += width) {
    double squares = 0;
    for (std::size_t i = first; i < first + width; ++i) squares += y[i] * y[i];
    for (std::size_t i = first; i < first + width; ++i)
      y[i] *= static_cast<double>(w.norm[i]) / std::sqrt(squares / static_cast<double>(width) + 1e-5);
  }
}

// x [rows, H] of one sequence from its beginning -> [rows, H].
Values twin(const Weights& w, const Values& x) {
  const std::int64_t inner = kDims.inner(), shared = kDims.group_states(), channels = kDims.conv_channels();
  std::vector<std::vector<double>> inputs;  // of the convolution, of all rows so far
  std::vector<double> state(static_cast<std::size_t>(inner * kDims.state_size));
  Values out;
  for (std::size_t row = 0; row < x.size(); row += kHidden) {
    const std::vector<double> all =
        product(w.in, {x.begin() + static_cast<std::ptrdiff_t>(row), x.begin() + static_cast<std::ptrdiff_t>(row) + kHidden});
    inputs.emplace_back(all.begin() + inner, all.begin() + inner + channels);
    std::vector<double> u, y;
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = at(w.bias, c);
      for (std::int64_t k = 0; k < kDims.conv_width; ++k) {
        const std::int64_t from = static_cast<std::int64_t>(inputs.size()) - kDims.conv_width + k;
        if (from >= 0)
          sum += at(w.conv, c * kDims.conv_width + k) * inputs[static_cast<std::size_t>(from)][static_cast<std::size_t>(c)];
      }
      u.push_back(silu(sum));
    }
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t head = i / kDims.head_dim, group = head / (kDims.heads / kDims.groups);
      const double delta = std::log1p(std::exp(all[static_cast<std::size_t>(inner + channels + head)] + at(w.dt_bias, head)));
      const double input = u[static_cast<std::size_t>(i)];
      double sum = at(w.d, head) * input;
      for (std::int64_t n = 0; n < kDims.state_size; ++n) {
        double& s = state[static_cast<std::size_t>(i * kDims.state_size + n)];
        const auto b = static_cast<std::size_t>(inner + group * kDims.state_size + n);
        s = std::exp(-std::exp(at(w.a_log, head)) * delta) * s + delta * input * u[b];
        sum += s * u[b + static_cast<std::size_t>(shared)];
      }
      y.push_back(sum);
    }
    gate_and_normalise(w, all, y);
    for (double v : product(w.out, y)) out.push_back(static_cast<float>(v));
  }
  return out;
}

std::unique_ptr<Linear> linear(const Ops& ops, const Values& values, std::int64_t rows) {
  QuantMatrix m;
  m.scheme = kF32;
  m.rows = rows;
  m.cols = static_cast<std::int64_t>(values.size()) / rows;
  m.codes = ConstTensorView(reinterpret_cast<const std::byte*>(values.data()), DType::f32, {m.rows, m.cols});
  return ops.make_linear(m, {});
}

// A mixer with the device, the cache and the memory that it needs to run.
class Bench {
 public:
  Bench(const Weights& w, bool reference, std::int32_t slots)
      : device_(open_cpu_device(2)),
        ops_(reference ? make_reference_ops() : make_cpu_ops(device_->caps())),
        stream_(device_->new_stream()),
        mixer_({}),
        cache_(*device_, spec(), 1, slots) {
    Mamba2Mixer::Parts& p = mixer_.parts();
    p.dims = kDims;
    p.cache_layer = 1;
    p.in = linear(*ops_, w.in, kDims.projected());
    p.out = linear(*ops_, w.out, kHidden);
    set(p.conv_weight, w.conv);
    set(p.conv_bias, w.bias);
    set(p.a_log, w.a_log);
    set(p.dt_bias, w.dt_bias);
    set(p.d, w.d);
    set(p.norm, w.norm);
  }

  Values run(const Values& x, const std::vector<SequenceRows>& sequences) {
    const auto rows = static_cast<std::int64_t>(x.size()) / kHidden;
    Workspace workspace(device_->allocate(mixer_.workspace_bytes(*ops_, rows, 1)));
    Batch batch;
    batch.sequences = sequences;
    Values out(x.size());
    const ConstTensorView in(reinterpret_cast<const std::byte*>(x.data()), DType::f32, {rows, kHidden});
    mixer_.run(in, {batch, cache_, {*ops_, *stream_, workspace}},
               TensorView(reinterpret_cast<std::byte*>(out.data()), DType::f32, {rows, kHidden}));
    return out;
  }

 private:
  static KvSpec spec() {
    KvSpec spec;
    spec.recurrent = recurrent_spec(kDims);
    spec.recurrent.layers = 3;
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
  Mamba2Mixer mixer_;
  KvCache cache_;
};

Values random_rows(std::int64_t rows, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Values x(static_cast<std::size_t>(rows * kHidden));
  for (float& v : x) v = normal(random);
  return x;
}

Values rows_of(const Values& x, std::int64_t from, std::int64_t to) {
  return {x.begin() + from * kHidden, x.begin() + to * kHidden};
}

TEST(Mamba2Mixer, EqualsTheFormulas) {
  std::mt19937 random(5);
  const Weights weights(random);
  for (bool reference : {true, false}) {
    Bench bench(weights, reference, 1);
    for (std::int32_t rows : {1, 2, 3, 12}) {
      const Values x = random_rows(rows, random), want = twin(weights, x), got = bench.run(x, {{0, rows, rows, {}, 0}});
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(got[i], want[i], reference ? 1e-5 : 5e-5) << rows << " rows, value " << i;
    }
  }
}

TEST(Mamba2Mixer, SequencesInPiecesAndTogetherEqualTheFormulas) {
  std::mt19937 random(6);
  const Weights weights(random);
  const Values a = random_rows(7, random), b = random_rows(5, random);
  const Values want_a = twin(weights, a), want_b = twin(weights, b);
  for (bool reference : {true, false}) {
    Bench bench(weights, reference, 3);
    bench.run(random_rows(4, random), {{0, 4, 4, {}, 2}});  // someone else had the slot before
    Values got_a = bench.run(rows_of(a, 0, 2), {{0, 2, 2, {}, 0}});
    Values both = rows_of(a, 2, 6);
    both.insert(both.end(), b.begin(), b.end());
    both = bench.run(both, {{0, 4, 6, {}, 0}, {4, 5, 5, {}, 2}});
    got_a.insert(got_a.end(), both.begin(), both.begin() + 4 * kHidden);
    const Values last = bench.run(rows_of(a, 6, 7), {{0, 1, 7, {}, 0}});
    got_a.insert(got_a.end(), last.begin(), last.end());
    for (std::size_t i = 0; i < want_a.size(); ++i) ASSERT_NEAR(got_a[i], want_a[i], reference ? 1e-5 : 5e-5) << i;
    for (std::size_t i = 0; i < want_b.size(); ++i) ASSERT_NEAR(both[4 * kHidden + i], want_b[i], reference ? 1e-5 : 5e-5) << i;
  }
}

}  // namespace
}  // namespace conclave
