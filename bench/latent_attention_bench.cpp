// Time of one layer of latent attention in its two forms, sizes of DeepSeek-V2-Lite, over a bf16 cache, on all threads.
//
//   latent_attention/<form>/rows:N/context:C   the last N tokens of a context of C; "chosen" is what the engine does
#include <benchmark/benchmark.h>

#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/device.h"
#include "nn/latent_attention.h"

namespace conclave {
namespace {

using Form = LatentAttention::Form;

constexpr LatentAttention::Dims kDims{16, 128, 64, 128, 512};
constexpr std::int64_t kHidden = 2048;

class Layer {
 public:
  Layer() : device_(open_cpu_device(0)), ops_(make_cpu_ops(device_->caps())), stream_(device_->new_stream()), block_({}) {
    LatentAttention::Parts& p = block_.parts();
    p.dims = kDims;
    p.scale = 0.07f;
    p.rope = rope_frequencies({}, kDims.rope_dim);
    p.q = linear(std::int64_t{kDims.heads} * kDims.expanded_key(), kHidden);
    p.kv_a = linear(kDims.absorbed_key(), kHidden);
    p.o = linear(kHidden, std::int64_t{kDims.heads} * kDims.value_dim);
    p.kv_norm.buffer = device_->allocate(static_cast<std::size_t>(kDims.latent) * sizeof(float));
    p.kv_norm.view = TensorView(p.kv_norm.buffer.data(), DType::f32, {kDims.latent});
    std::fill_n(reinterpret_cast<float*>(p.kv_norm.buffer.data()), kDims.latent, 1.0f);
    block_.set_up_projection(matrix(std::int64_t{kDims.heads} * (kDims.nope_dim + kDims.value_dim), kDims.latent), *ops_);
  }

  void measure(benchmark::State& state, Form form) {
    const auto rows = static_cast<std::int32_t>(state.range(0)), context = static_cast<std::int32_t>(state.range(1));
    block_.parts().form = form;
    KvSpec spec;
    spec.layers = spec.kv_heads = 1;
    spec.head_dim = kDims.absorbed_key();
    spec.latent_values = kDims.latent;
    const std::int32_t pages = context / spec.page_tokens + 1;
    KvCache cache(*device_, spec, pages, 0);
    std::memset(cache.layer(0).k.data, 0, static_cast<std::size_t>(spec.page_bytes() * pages));
    std::vector<std::int32_t> page_ids(static_cast<std::size_t>(pages)), positions(static_cast<std::size_t>(rows));
    std::iota(page_ids.begin(), page_ids.end(), 0);
    std::iota(positions.begin(), positions.end(), context - rows);
    const SequenceRows sequence{0, rows, context, page_ids, 0};
    Batch batch;
    batch.positions = positions;
    batch.sequences = {&sequence, 1};
    const std::vector<float> x = random(rows * kHidden);
    std::vector<float> out(x.size());
    Workspace workspace(device_->allocate(block_.workspace_bytes(*ops_, rows, context)));
    for (auto _ : state)
      block_.run(ConstTensorView(reinterpret_cast<const std::byte*>(x.data()), DType::f32, {rows, kHidden}),
                 {batch, cache, {*ops_, *stream_, workspace}},
                 TensorView(reinterpret_cast<std::byte*>(out.data()), DType::f32, {rows, kHidden}));
    state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
    state.counters["workspace_MB"] = static_cast<double>(workspace.size()) / 1e6;
    if (form == Form::cheaper) state.SetLabel(LatentAttention::expands(kDims, rows, context) ? "expanded" : "absorbed");
  }

 private:
  std::vector<float> random(std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    std::uniform_real_distribution<float> uniform(-0.05f, 0.05f);
    for (float& v : values) v = uniform(random_);
    return values;
  }
  QuantMatrix matrix(std::int64_t rows, std::int64_t cols) {
    weights_.push_back(random(rows * cols));
    QuantMatrix m;
    m.scheme = kF32;
    m.rows = rows;
    m.cols = cols;
    m.codes = ConstTensorView(reinterpret_cast<const std::byte*>(weights_.back().data()), DType::f32, {rows, cols});
    return m;
  }
  std::unique_ptr<Linear> linear(std::int64_t rows, std::int64_t cols) { return ops_->make_linear(matrix(rows, cols), {}); }

  std::minstd_rand random_{1};
  std::vector<std::vector<float>> weights_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Stream> stream_;
  LatentAttention block_;
};

const bool kRegistered = [] {
  for (const auto& [name, form] :
       {std::pair("absorbed", Form::absorbed), {"expanded", Form::expanded}, {"chosen", Form::cheaper}}) {
    benchmark::RegisterBenchmark((std::string("latent_attention/") + name).c_str(),
                                 [form](benchmark::State& state) {
                                   static Layer layer;
                                   layer.measure(state, form);
                                 })
        ->ArgNames({"rows", "context"})
        ->ArgsProduct({{1}, {512, 2048}})
        ->ArgsProduct({{16, 128}, {2048}})
        ->Args({16, 16})
        ->Args({128, 128})
        ->Args({512, 512})
        ->Args({512, 2048})
        ->Args({2048, 2048})
        ->Unit(benchmark::kMillisecond)
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace conclave
