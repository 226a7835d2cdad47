// The judge is judged: the reference operations, and the fast ones too, against numbers that numpy computed from the definitions
// (make_tables.py).
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "io/json.h"
#include "tests/ops/attention_case.h"
#include "tests/ops/bench.h"

namespace conclave::test {
namespace {

const Json& tables() {
  static const Json json = [] {
    std::ifstream in(CONCLAVE_SOURCE_DIR "/tests/data/ops/tables.json");
    return parse_json(std::string(std::istreambuf_iterator<char>(in), {}), "tables.json");
  }();
  return json;
}

std::vector<float> floats(const Json& json) { return json.get<std::vector<float>>(); }

std::vector<Bench> all_benches() {
  std::vector<Bench> benches = cpu_benches();
  benches.push_back(Bench::reference());
  return benches;
}

TEST(Tables, RmsNorm) {
  ASSERT_EQ(tables()["rms_norm"].size(), 3u);
  for (Bench& bench : all_benches()) {
    for (const Json& c : tables()["rms_norm"]) {
      const Shape shape{c["rows"], c["dim"]};
      Tensor x(shape, floats(c["x"])), out(shape);
      const Tensor weight(Shape{c["dim"]}, floats(c["weight"]));
      bench.ops().rms_norm(x.view(), weight.values.empty() ? ConstTensorView{} : weight.view(), c["eps"].get<float>(), out.view(),
                           bench.stream());
      EXPECT_TRUE(close(out.values, floats(c["out"]), 1e-6, 1e-7)) << bench.ops().name();
    }
  }
}

TEST(Tables, Rope) {
  ASSERT_EQ(tables()["rope"].size(), 4u);
  for (Bench& bench : all_benches()) {
    for (const Json& c : tables()["rope"]) {
      const auto positions = c["positions"].get<std::vector<std::int32_t>>();
      const std::vector<float> inv_freq = floats(c["inv_freq"]);
      Tensor x(Shape{static_cast<std::int64_t>(positions.size()), c["heads"], c["head_dim"]}, floats(c["x"]));
      const Rope rope{c["head_dim"], c["rotary_dim"], c["interleaved"], inv_freq, c["magnitude"]};
      bench.ops().rope(x.view(), positions, rope, bench.stream());
      EXPECT_TRUE(close(x.values, floats(c["out"]), 0, 1e-6)) << bench.ops().name();
    }
  }
}

TEST(Tables, Activations) {
  const Json& t = tables()["activations"];
  const std::map<std::string, Elementwise> kinds = {{"silu", Elementwise::silu},
                                                    {"gelu", Elementwise::gelu},
                                                    {"gelu_tanh", Elementwise::gelu_tanh},
                                                    {"relu2", Elementwise::relu2}};
  for (Bench& bench : all_benches()) {
    for (const auto& [name, kind] : kinds) {
      const std::vector<float> gate = floats(t["gate"]), up = floats(t["up"]);
      const Shape shape{2, static_cast<std::int64_t>(gate.size()) / 2};
      const Tensor g(shape, gate), u(shape, up);
      Tensor gated(shape), alone(shape);
      bench.ops().activate(kind, g.view(), u.view(), gated.view(), bench.stream());
      bench.ops().activate(kind, {}, g.view(), alone.view(), bench.stream());
      EXPECT_TRUE(close(gated.values, floats(t["gated"][name]), 2e-6, 1e-6)) << bench.ops().name() << " " << name;
      EXPECT_TRUE(close(alone.values, floats(t["alone"][name]), 2e-6, 1e-6)) << bench.ops().name() << " " << name;
    }
  }
}

TEST(Tables, Attention) {
  ASSERT_EQ(tables()["attention"].size(), 6u);
  for (Bench& bench : all_benches()) {
    for (const Json& c : tables()["attention"]) {
      const std::vector<float> sinks = floats(c["sinks"]);
      const AttentionSpec spec{c["heads"],  c["kv_heads"], c["head_dim"], c["scale"],
                               c["window"], c["chunk"],    sinks,         c["value_dim"]};
      AttentionCase attention(spec, DType::f32, 3, 7);
      std::vector<float> want;
      for (const Json& s : c["sequences"]) {
        attention.add(s["context"], s["rows"], floats(s["q"]), floats(s["k"]), floats(s["v"]));
        const std::vector<float> out = floats(s["out"]);
        want.insert(want.end(), out.begin(), out.end());
      }
      EXPECT_TRUE(close(attention.run(bench, attention.write(bench)).values, want, 0, 2e-6))
          << bench.ops().name() << " " << c["window"] << " " << c["chunk"];
    }
  }
}

}  // namespace
}  // namespace conclave::test
