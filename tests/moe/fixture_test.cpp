// The judge is judged: routing, the reference and every backend against numpy on the MoE layers of reference checkpoints.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "device/device.h"
#include "moe/backend.h"
#include "moe/verify.h"
#include "tests/moe/moe_fixture.h"

namespace conclave::moe {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> fixtures_under(const fs::path& folder) {
  std::vector<fs::path> out;
  if (!fs::exists(folder)) return out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "moe_bf16.safetensors")) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

// Float32 copies of the fixture's inputs, and room for an answer.
struct Call {
  explicit Call(const MoeFixture& f) : tokens(f.reference("in").shape[0]) {
    const ConstTensorView in = f.reference("in");
    for (std::int64_t i = 0; i < in.shape.elements(); ++i) hidden.push_back(in.as<bf16>()[i].to_float());
    out.resize(hidden.size());
    call.hidden = TensorView(reinterpret_cast<std::byte*>(hidden.data()), DType::f32, in.shape);
    call.out = TensorView(reinterpret_cast<std::byte*>(out.data()), DType::f32, in.shape);
    call.router_logits = f.reference("router_logits");
    call.selection_bias = f.bias;
  }
  std::int64_t tokens;
  std::vector<float> hidden, out;
  MoeCall call;
};

void expect_same_routing(const MoeFixture& f) {
  const ConstTensorView logits = f.reference("router_logits"), ids = f.reference("topk_ids"), weights = f.reference("topk_weights");
  const auto experts = static_cast<std::size_t>(f.problem.experts), k = static_cast<std::size_t>(f.problem.top_k);
  const std::span<const float> bias = f.bias ? std::span(f.bias.as<float>(), experts) : std::span<const float>();
  for (std::int64_t t = 0; t < logits.shape[0]; ++t) {
    std::vector<std::int32_t> got_ids(k);
    std::vector<float> got(k);
    route_row(f.problem.routing, {logits.row<float>(t), experts}, bias, got_ids, got);
    std::map<std::int32_t, float> by_id;  // the references are sorted by weight, ours by preference
    for (std::size_t j = 0; j < k; ++j) by_id[got_ids[j]] = got[j];
    ASSERT_EQ(by_id.size(), k) << "token " << t;
    for (std::size_t j = 0; j < k; ++j) {
      const auto at = by_id.find(ids.row<std::int32_t>(t)[j]);
      ASSERT_NE(at, by_id.end()) << "token " << t << " expert " << ids.row<std::int32_t>(t)[j];
      EXPECT_NEAR(at->second, weights.row<float>(t)[j], 1e-6f) << "token " << t;
    }
  }
}

void expect_same_output(const MoeFixture& f, const MoeProblem& problem, const MoeBackend& backend, const std::string& reference,
                        double allowed, Device& device) {
  SCOPED_TRACE(std::string(backend.name()) + " " + reference);
  Call call(f);
  const auto kernel = backend.build(problem, f.weights, device);
  Workspace workspace(device.allocate(kernel->workspace_bytes(call.tokens)));
  const auto stream = device.new_stream();
  kernel->run(call.call, workspace, *stream);
  const RowError worst = worst_row(call.call.out, f.reference(reference));
  EXPECT_LE(worst.error, allowed + kernel->rounding()) << "token " << worst.row;
}

void expect_as_numpy(const fs::path& folder) {
  SCOPED_TRACE(folder.filename().string());
  const MoeFixture f = load_moe_fixture(folder);
  expect_same_routing(f);
  const auto device = open_cpu_device(2);
  int judged = 0;
  for (const MoeBackend* backend : builtin_backends()) {
    const bool reference = backend->intent() == Intent::reference;
    if (backend->supports(f.problem, device->caps())) {
      expect_same_output(f, f.problem, *backend, "routed_out", reference ? 1e-6 : tolerance_of(f.problem), *device);
      ++judged;
    }
    MoeProblem quantised = f.problem;
    quantised.activations = f.activations;
    if (f.activations == kF32 || !backend->supports(quantised, device->caps())) continue;
    // numpy keeps the inner activations in float64 until they are rounded; where ours are float32 a code may flip.
    expect_same_output(f, quantised, *backend, "act.routed_out", 1e-6, *device);
    ++judged;
  }
  EXPECT_GE(judged, 2);
}

TEST(MoeFixtures, AgreeWithNumpy) {
  const auto folders = fixtures_under(fs::path(CONCLAVE_SOURCE_DIR) / "tests/data/fixtures");
  ASSERT_EQ(folders.size(), 3u);
  for (const fs::path& folder : folders) expect_as_numpy(folder);
}

TEST(MoeFixtures, AgreeWithNumpyForEveryArchitecture) {
  const auto folders = fixtures_under(fs::path(CONCLAVE_SOURCE_DIR) / ".." / "shared" / "fixtures");
  if (folders.empty())
    GTEST_SKIP() << "no ../shared/fixtures beside the sources: MoE layers of other architectures are not compared";
  EXPECT_GE(folders.size(), 20u);
  for (const fs::path& folder : folders) expect_as_numpy(folder);
}

}  // namespace
}  // namespace conclave::moe
