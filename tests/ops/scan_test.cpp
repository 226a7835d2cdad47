// The recurrent operations: the reference against the recurrence written down once more in float64 for whole sequences, the fast
// ones against the reference, and every one of them for what the engine relies on: pieces, batches and used slots change nothing.
#include <gtest/gtest.h>

#include "tests/ops/bench.h"

namespace conclave::test {
namespace {

// One sequence of random rows, all operands of both operations.
struct Rows {
  static constexpr std::int64_t kHeads = 6, kGroups = 3, kDim = 5, kStates = 11, kWidth = 4, kChannels = 601;
  Rows(std::int64_t rows, std::mt19937& random)
      : count(rows),
        wide(Tensor::random({rows, kHeads * kDim + 2 * kGroups * kStates + kHeads}, random)),
        inputs(Tensor::random({rows, kChannels}, random)) {}
  std::int64_t count;
  Tensor wide;  // x, b, c, dt beside one another, as a mixer has them
  Tensor inputs;
};

struct Weights {
  explicit Weights(std::mt19937& random)
      : a_log(Tensor::random({Rows::kHeads}, random)),
        dt_bias(Tensor::random({Rows::kHeads}, random)),
        d(Tensor::random({Rows::kHeads}, random)),
        conv(Tensor::random({Rows::kChannels, 1, Rows::kWidth}, random)),
        bias(Tensor::random({Rows::kChannels}, random)) {}
  Tensor a_log, dt_bias, d, conv, bias;

  ConstTensorView conv_view() const { return {conv.view().data, DType::f32, {Rows::kChannels, Rows::kWidth}}; }
  SelectiveScan scan(const Tensor& wide) const {
    std::int64_t at = 0;
    const auto part = [&](std::int64_t heads, std::int64_t values) {
      ConstTensorView view = wide.view();
      view.data += at * static_cast<std::int64_t>(sizeof(float));
      view.shape = Shape{wide.shape[0], heads, values};
      view.stride = {wide.shape[1], values, 1};
      at += heads * values;
      return view;
    };
    SelectiveScan s;
    s.x = part(Rows::kHeads, Rows::kDim);
    s.b = part(Rows::kGroups, Rows::kStates);
    s.c = part(Rows::kGroups, Rows::kStates);
    s.dt = part(Rows::kHeads, 1);
    s.dt.shape = Shape{wide.shape[0], Rows::kHeads};
    s.dt.stride = {wide.shape[1], 1};
    s.a_log = a_log.view();
    s.dt_bias = dt_bias.view();
    s.d = d.view();
    return s;
  }
};

// The states of a few sequences, NaN where nobody has been yet.
struct Memory {
  explicit Memory(std::int64_t slots)
      : history({slots, Rows::kWidth - 1, Rows::kChannels}), state({slots, Rows::kHeads, Rows::kDim, Rows::kStates}) {}
  Tensor history, state;
};

struct Outputs {
  explicit Outputs(std::int64_t rows) : conv({rows, Rows::kChannels}), scan({rows, Rows::kHeads, Rows::kDim}) {}
  Tensor conv, scan;
};

// A part of a sequence: its rows [from, to).
struct Piece {
  const Rows& rows;
  std::int64_t from, to;
  std::int32_t slot;
};

void copy_rows(const Tensor& from, std::int64_t first, std::int64_t count, Tensor& to, std::int64_t at) {
  const auto width = static_cast<std::int64_t>(from.values.size()) / from.shape[0];
  std::copy_n(from.values.begin() + first * width, count * width, to.values.begin() + at * width);
}

// Both operations on one batch of pieces; what they give for each, one after the other.
Outputs run(Bench& bench, const Weights& weights, Memory& memory, const std::vector<Piece>& pieces) {
  std::int64_t rows = 0;
  std::vector<SequenceRows> sequences;
  for (const Piece& p : pieces) {
    sequences.push_back(
        {static_cast<std::int32_t>(rows), static_cast<std::int32_t>(p.to - p.from), static_cast<std::int32_t>(p.to), {}, p.slot});
    rows += p.to - p.from;
  }
  Tensor wide({rows, pieces[0].rows.wide.shape[1]}), inputs({rows, Rows::kChannels});
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& p = pieces[i];
    copy_rows(p.rows.wide, p.from, p.to - p.from, wide, sequences[i].first_row);
    copy_rows(p.rows.inputs, p.from, p.to - p.from, inputs, sequences[i].first_row);
  }
  Batch batch;
  batch.sequences = sequences;
  Outputs out(rows);
  bench.ops().causal_conv(std::as_const(inputs).view(), weights.conv_view(), weights.bias.view(), batch, memory.history.view(),
                          out.conv.view(), bench.stream());
  bench.ops().selective_scan(weights.scan(wide), batch, memory.state.view(), out.scan.view(), bench.stream());
  return out;
}

Outputs whole(Bench& bench, const Weights& weights, const Rows& rows) {
  Memory memory(1);
  return run(bench, weights, memory, {{rows, 0, rows.count, 0}});
}

std::vector<Bench> all_benches() {
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  return benches;
}

double number(const Tensor& t, std::int64_t i) { return static_cast<double>(t.values[static_cast<std::size_t>(i)]); }

// The state is never kept: each output is a sum over all earlier rows of what is left of them.
std::vector<float> scan_twin(const Weights& w, const Rows& rows) {
  const std::int64_t width = rows.wide.shape[1], inner = Rows::kHeads * Rows::kDim, shared = Rows::kGroups * Rows::kStates;
  std::vector<float> out;
  for (std::int64_t t = 0; t < rows.count; ++t) {
    for (std::int64_t h = 0; h < Rows::kHeads; ++h) {
      const std::int64_t group = h * Rows::kGroups / Rows::kHeads;
      const auto delta = [&](std::int64_t r) {
        return std::log(1.0 + std::exp(number(rows.wide, r * width + inner + 2 * shared + h) + number(w.dt_bias, h)));
      };
      for (std::int64_t p = 0; p < Rows::kDim; ++p) {
        const auto x = [&](std::int64_t r) { return number(rows.wide, r * width + h * Rows::kDim + p); };
        double y = number(w.d, h) * x(t), elapsed = 0;
        for (std::int64_t r = t; r >= 0; elapsed += delta(r), --r) {
          double product = 0;
          for (std::int64_t n = 0; n < Rows::kStates; ++n)
            product += number(rows.wide, r * width + inner + group * Rows::kStates + n) *
                       number(rows.wide, t * width + inner + shared + group * Rows::kStates + n);
          y += std::exp(-std::exp(number(w.a_log, h)) * elapsed) * delta(r) * x(r) * product;
        }
        out.push_back(static_cast<float>(y));
      }
    }
  }
  return out;
}

std::vector<float> conv_twin(const Weights& w, const Rows& rows) {
  std::vector<float> out;
  for (std::int64_t t = 0; t < rows.count; ++t)
    for (std::int64_t c = 0; c < Rows::kChannels; ++c) {
      double sum = number(w.bias, c);
      for (std::int64_t k = 0; k < Rows::kWidth; ++k)
        if (t - k >= 0)
          sum += number(w.conv, c * Rows::kWidth + Rows::kWidth - 1 - k) * number(rows.inputs, (t - k) * Rows::kChannels + c);
      out.push_back(static_cast<float>(sum));
    }
  return out;
}

class Scan : public testing::Test {
 protected:
  std::mt19937 random_{11};
  Weights weights_{random_};
};

TEST_F(Scan, EqualsTheSumOverAllEarlierRows) {
  for (std::int64_t count : {1, 2, 3, 4, 19}) {
    const Rows rows(count, random_);
    const std::vector<float> conv = conv_twin(weights_, rows), scan = scan_twin(weights_, rows);
    for (Bench& bench : all_benches()) {
      const Outputs got = whole(bench, weights_, rows);
      EXPECT_TRUE(close(got.conv.values, conv, 1e-6, 2e-6)) << bench.ops().name() << count;
      EXPECT_TRUE(close(got.scan.values, scan, 1e-5, 1e-5)) << bench.ops().name() << count;
    }
  }
}

TEST_F(Scan, LargeStepsNeitherOverflowNorForgetTheRow) {
  Rows rows(2, random_);
  const std::int64_t width = rows.wide.shape[1];
  for (std::int64_t h = 0; h < Rows::kHeads; ++h) {
    rows.wide.values[static_cast<std::size_t>(width - Rows::kHeads + h)] = 200.0f;
    rows.wide.values[static_cast<std::size_t>(2 * width - Rows::kHeads + h)] = -200.0f;
  }
  Bench reference = Bench::reference();
  const Outputs want = whole(reference, weights_, rows);
  for (float v : want.scan.values) ASSERT_TRUE(std::isfinite(v));
  for (Bench& bench : cpu_benches()) EXPECT_TRUE(close(whole(bench, weights_, rows).scan.values, want.scan.values, 1e-5, 1e-3));
}

TEST_F(Scan, PiecesOfASequenceAreBitwiseTheWhole) {
  const Rows rows(13, random_);
  for (Bench& bench : all_benches()) {
    const Outputs want = whole(bench, weights_, rows);
    for (std::int64_t size : {1, 2, 3, 5, 12}) {
      Memory memory(2);
      Outputs got(rows.count);
      for (std::int64_t at = 0; at < rows.count; at += size) {
        const std::int64_t end = std::min(rows.count, at + size);
        const Outputs part = run(bench, weights_, memory, {{rows, at, end, 1}});
        copy_rows(part.conv, 0, end - at, got.conv, at);
        copy_rows(part.scan, 0, end - at, got.scan, at);
      }
      EXPECT_EQ(got.conv.values, want.conv.values) << bench.ops().name() << " in pieces of " << size;
      EXPECT_EQ(got.scan.values, want.scan.values) << bench.ops().name() << " in pieces of " << size;
    }
  }
}

// Slots in disorder, one of them used before, rows of beginnings and continuations in one batch.
TEST_F(Scan, ABatchIsBitwiseEachSequenceAlone) {
  const Rows a(9, random_), b(4, random_), before(6, random_);
  for (Bench& bench : all_benches()) {
    Memory memory(4);
    run(bench, weights_, memory, {{before, 0, 6, 3}, {a, 0, 5, 1}});
    const Memory saved = memory;
    const Outputs got = run(bench, weights_, memory, {{b, 0, 4, 3}, {a, 5, 9, 1}});
    const Outputs alone_a = whole(bench, weights_, a), alone_b = whole(bench, weights_, b);
    Outputs want(8);
    copy_rows(alone_b.conv, 0, 4, want.conv, 0);
    copy_rows(alone_a.conv, 5, 4, want.conv, 4);
    copy_rows(alone_b.scan, 0, 4, want.scan, 0);
    copy_rows(alone_a.scan, 5, 4, want.scan, 4);
    EXPECT_EQ(got.conv.values, want.conv.values) << bench.ops().name();
    EXPECT_EQ(got.scan.values, want.scan.values) << bench.ops().name();
    const std::size_t slot = memory.state.values.size() / 4;
    for (std::size_t i = 0; i < slot; ++i) {
      ASSERT_TRUE(std::isnan(memory.state.values[i]) && std::isnan(memory.state.values[2 * slot + i])) << "slots of no one";
      ASSERT_FALSE(std::isnan(memory.state.values[slot + i]) || std::isnan(memory.state.values[3 * slot + i]));
    }
    EXPECT_NE(saved.state.values, memory.state.values);
  }
}

}  // namespace
}  // namespace conclave::test
