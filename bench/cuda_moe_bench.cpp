// How long a whole experts call takes on a GPU, from bf16 hidden states and chosen experts to bf16 results, beside the bytes of the
// distinct experts that it must read and what reading takes on the same device in the same run.
//
// Replays of a CUDA graph of many calls, each with another routing (uniform, distinct experts for a token) and, where memory
// allows, another copy of the weights, so that the L2 cache holds none; the median of the replays. Weights are random codes with
// scales near 1.
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <random>
#include <set>

#include "base/math.h"
#include "bench/read_bandwidth.h"
#include "conclave/error.h"
#include "device/cuda/graph_cuda.h"
#include "device/device.h"
#include "kernels/cuda/moe/fp4_units.h"
#include "kernels/cuda/moe/launch.h"
#include "moe/plans/cuda_latency.h"

namespace conclave {
namespace {

struct BenchShape {
  const char* name;
  int hidden, inter, experts, top_k;
  bool gpt_oss;  // biases and the clamped activation
};
constexpr BenchShape kShapes[] = {
    {"S1", 5120, 8192, 16, 1, false},   // Llama 4 Scout
    {"S2", 7168, 2048, 256, 8, false},  // DeepSeek V3
    {"S2p", 7168, 256, 256, 8, false},  // a rank of eight of it
    {"S3", 3072, 1536, 256, 8, false},  // MiniMax M2
    {"S4", 2048, 768, 128, 8, false},   // Qwen3 30B A3B
    {"S5", 2880, 2880, 32, 4, true},    // gpt-oss 20B
    {"S6", 2048, 512, 256, 8, false},   // Qwen3.5 35B A3B
};

struct Format {
  const char* name;
  bool mx;
  double bits;  // of a weight with its scales
  std::int64_t unit_bytes() const { return mx ? cuda::Mxfp4Units::kBytes : cuda::Nvfp4Units::kBytes; }
};
constexpr Format kFormats[] = {{"nvfp4", false, 4.5}, {"mxfp4", true, 4.25}};

constexpr std::size_t kPoolBytes = std::size_t{3} << 30;
constexpr int kReplays = 9;

struct Memory {
  explicit Memory(Device& d, std::size_t bytes) : buffer(d.allocate(bytes)) {}
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(buffer.data());
  }
  Buffer buffer;
};

template <class T>
Memory put(Device& device, const std::vector<T>& values) {
  Memory out(device, values.size() * sizeof(T));
  device.copy(out.buffer.data(), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T));
  return out;
}

// Packed units of random codes. Their scale bytes decode to about 2^-7 to 2^-4, so that results stay of ordinary size.
Memory random_units(Device& device, const Format& format, std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  const auto unit = static_cast<std::size_t>(format.unit_bytes());
  std::vector<std::byte> block(8192 * unit);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto bits = static_cast<unsigned>(random()) >> 16;
    const bool scale = i % unit >= cuda::kUnitCodeBytes;
    const unsigned byte = !scale ? bits : format.mx ? 228 + bits % 4 : 24 + bits % 24;
    block[i] = static_cast<std::byte>(byte);
  }
  Memory out(device, bytes);
  for (std::size_t at = 0; at < bytes; at += block.size())
    device.copy(out.buffer.data() + at, block.data(), std::min(block.size(), bytes - at));
  return out;
}

class Timer {
 public:
  Timer(CudaStream& stream) : stream_(stream) {
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  // Microseconds: the median of replays.
  double median(const CudaGraph& graph) {
    graph.launch(stream_);
    graph.launch(stream_);
    std::vector<double> all;
    for (int i = 0; i < kReplays; ++i) {
      cudaEventRecord(begin_, stream_.handle());
      graph.launch(stream_);
      cudaEventRecord(end_, stream_.handle());
      stream_.synchronize();
      float milliseconds = 0.0f;
      cudaEventElapsedTime(&milliseconds, begin_, end_);
      all.push_back(static_cast<double>(milliseconds) * 1e3);
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }

 private:
  CudaStream& stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

struct Result {
  std::string shape, format;
  int tokens;
  double active, megabytes, microseconds, gigabytes_per_second, of_read;
};

class Layer {
 public:
  Layer(Device& device, CudaStream& stream, const BenchShape& shape, const Format& format)
      : device_(device),
        stream_(stream),
        shape_(shape),
        format_(format),
        inner_bytes_(static_cast<std::size_t>(shape.inter / 16 * ceil_div(shape.hidden, cuda::kUnitCols) * format.unit_bytes())),
        outer_bytes_(
            static_cast<std::size_t>(ceil_div(shape.hidden, 32) * ceil_div(shape.inter, cuda::kUnitCols) * format.unit_bytes())),
        copies_(std::max<std::size_t>(1, kPoolBytes / ((inner_bytes_ + outer_bytes_) * static_cast<std::size_t>(shape.experts)))),
        gate_up_(random_units(device, format, copies_ * inner_bytes_ * static_cast<std::size_t>(shape.experts), 1)),
        down_(random_units(device, format, copies_ * outer_bytes_ * static_cast<std::size_t>(shape.experts), 2)),
        unscale_(put(
            device, std::vector<float>(static_cast<std::size_t>(shape.experts) * 3, format.mx ? 0x1p19f * 0.05f : 0x1p19f * 0.5f))),
        bias_(
            put(device, std::vector<float>(static_cast<std::size_t>(shape.experts * std::max(shape.hidden, shape.inter)), 0.1f))) {
    problem_.experts = problem_.local_count = shape.experts;
    problem_.top_k = shape.top_k;
    problem_.hidden = shape.hidden;
    problem_.inter = shape.inter;
  }

  Result measure(int tokens, double read_gigabytes, int calls) {
    std::mt19937 random(7);
    const auto pairs = static_cast<std::size_t>(tokens * shape_.top_k), hidden = static_cast<std::size_t>(shape_.hidden);
    std::vector<std::int32_t> ids;
    double active = 0.0;
    for (int call = 0; call < calls; ++call) {
      std::set<std::int32_t> distinct;
      for (int t = 0; t < tokens; ++t) {
        std::vector<std::int32_t> all(static_cast<std::size_t>(shape_.experts));
        for (std::size_t e = 0; e < all.size(); ++e) all[e] = static_cast<std::int32_t>(e);
        for (std::size_t k = 0; k < static_cast<std::size_t>(shape_.top_k); ++k) {
          std::swap(all[k], all[k + random() % (all.size() - k)]);
          ids.push_back(all[k]);
          distinct.insert(all[k]);
        }
      }
      active += static_cast<double>(distinct.size()) / calls;
    }
    std::vector<bf16> x(static_cast<std::size_t>(tokens) * hidden);
    for (bf16& v : x) v = bf16::from_float(static_cast<float>(random() % 2001) * 1e-3f - 1.0f);
    cuda::ExpertsArgs args = arguments(tokens);
    const Memory on_ids = put(device_, ids), on_x = put(device_, x), out(device_, x.size() * sizeof(bf16));
    const Memory weights = put(device_, std::vector<float>(pairs, 1.0f / static_cast<float>(shape_.top_k)));
    const Memory inner(device_, pairs * static_cast<std::size_t>(shape_.inter) * sizeof(bf16));
    const Memory partial(device_, pairs * hidden * sizeof(float) * static_cast<std::size_t>(args.down_chunks));
    const Memory state = put(device_, std::vector<std::uint32_t>(static_cast<std::size_t>(cuda::kExpertsStateWords), 0u));
    args.hidden = on_x.as<bf16>();
    args.out = out.as<bf16>();
    args.weights = weights.as<float>();
    args.inner = inner.as<bf16>();
    args.partial = partial.as<float>();
    args.state = state.as<std::uint32_t>();
    const CudaGraph graph(stream_, [&] {
      for (int call = 0; call < calls; ++call)
        launch(args, on_ids.as<std::int32_t>() + static_cast<std::size_t>(call) * pairs, call);
    });
    const double us = Timer(stream_).median(graph) / calls;
    check_finite(out, x.size());
    const double bytes = active * 3.0 * shape_.hidden * shape_.inter * format_.bits / 8.0;
    return {shape_.name, format_.name, tokens, active, bytes / 1e6, us, bytes / us / 1e3, bytes / us / 1e3 / read_gigabytes};
  }

 private:
  cuda::ExpertsArgs arguments(int tokens) const {
    cuda::ExpertsArgs args;
    args.blocks = format_.mx ? cuda::prepare_experts_mxfp4() : cuda::prepare_experts_nvfp4();
    args.unscale = unscale_.as<float>();
    args.hidden_stride = args.out_stride = shape_.hidden;
    args.tokens = tokens;
    args.top_k = shape_.top_k;
    args.experts = args.local_count = shape_.experts;
    args.hidden_size = shape_.hidden;
    args.inter_size = shape_.inter;
    args.down_chunks = moe::cuda_down_chunks(problem_, tokens, args.blocks);
    if (shape_.gpt_oss) {
      args.gate_bias = args.up_bias = args.down_bias = bias_.as<float>();
      args.activation = {cuda::ActivationKind::swiglu_oai, true, 1.702f, 1.0f, 7.0f};
    }
    return args;
  }

  void launch(cuda::ExpertsArgs args, const std::int32_t* ids, int call) {
    const std::size_t copy = static_cast<std::size_t>(call) % copies_ * static_cast<std::size_t>(shape_.experts);
    args.ids = ids;
    args.gate_up = gate_up_.buffer.data() + copy * inner_bytes_;
    args.down = down_.buffer.data() + copy * outer_bytes_;
    format_.mx ? cuda::launch_experts_mxfp4(args, stream_) : cuda::launch_experts_nvfp4(args, stream_);
  }

  void check_finite(const Memory& out, std::size_t n) {
    std::vector<bf16> got(n);
    device_.copy(reinterpret_cast<std::byte*>(got.data()), out.buffer.data(), n * sizeof(bf16));
    double squares = 0.0;
    for (const bf16 v : got) squares += static_cast<double>(v.to_float()) * static_cast<double>(v.to_float());
    if (!std::isfinite(squares) || squares == 0.0) throw Error(Errc::internal, "the results are not finite, or all zero");
  }

  Device& device_;
  CudaStream& stream_;
  const BenchShape& shape_;
  const Format& format_;
  std::size_t inner_bytes_, outer_bytes_, copies_;
  Memory gate_up_, down_, unscale_, bias_;
  moe::MoeProblem problem_;
};

double read_bandwidth(Device& device, CudaStream& stream) {  // GB/s
  constexpr std::int64_t kBytes = std::int64_t{4} << 30;
  const Memory data = random_units(device, kFormats[0], static_cast<std::size_t>(kBytes), 3);
  const int blocks = cuda::prepare_experts_nvfp4();
  const CudaGraph graph(stream, [&] { bench::launch_read(data.buffer.data(), kBytes, blocks, stream); });
  return static_cast<double>(kBytes) / Timer(stream).median(graph) / 1e3;
}

void write_json(const std::string& path, const std::string& device, double read, const std::vector<Result>& all) {
  std::ofstream out(path);
  out << fmt::format("{{\"device\": \"{}\", \"read_gb_per_s\": {:.0f}, \"results\": [\n", device, read);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Result& r = all[i];
    out << fmt::format(
        "{{\"shape\": \"{}\", \"format\": \"{}\", \"tokens\": {}, \"active\": {:.2f}, \"mb\": {:.2f}, \"us\": {:.2f}, "
        "\"gb_per_s\": {:.0f}, \"of_read\": {:.3f}}}{}\n",
        r.shape, r.format, r.tokens, r.active, r.megabytes, r.microseconds, r.gigabytes_per_second, r.of_read,
        i + 1 < all.size() ? "," : "");
  }
  out << "]}\n";
}

int run(int argc, char** argv) {
  CLI::App app("How long an experts call takes on a GPU");
  std::vector<std::string> shapes, formats = {"nvfp4"};
  std::vector<int> tokens = {1, 2, 4, 8, 16, 32, 64};
  std::string json;
  int calls = 24;
  app.add_option("--shapes", shapes, "S1 to S6, all by default")->delimiter(',');
  app.add_option("--formats", formats, "nvfp4, mxfp4")->delimiter(',');
  app.add_option("--tokens", tokens)->delimiter(',')->check(CLI::Range(1, cuda::kMaxCallTokens));
  app.add_option("--calls", calls, "of a graph, each with its own routing")->check(CLI::PositiveNumber);
  app.add_option("--json", json, "results to this file too");
  CLI11_PARSE(app, argc, argv);

  const std::unique_ptr<Device> device = open_cuda_device(0);
  const auto opened = device->new_stream();
  auto& stream = static_cast<CudaStream&>(*opened);
  const double read = read_bandwidth(*device, stream);
  fmt::print("{}, reads {:.0f} GB/s\nshape format tokens  active      MB       us     GB/s  of read\n", device->caps().name, read);
  std::vector<Result> all;
  for (const BenchShape& shape : kShapes)
    for (const Format& format : kFormats) {
      if (!shapes.empty() && std::ranges::find(shapes, shape.name) == shapes.end()) continue;
      if (std::ranges::find(formats, format.name) == formats.end()) continue;
      Layer layer(*device, stream, shape, format);
      for (const int t : tokens) {
        const Result r = layer.measure(t, read, calls);
        fmt::print("{:5} {:6} {:6} {:7.1f} {:7.1f} {:8.2f} {:8.0f} {:7.1f}%\n", r.shape, r.format, r.tokens, r.active, r.megabytes,
                   r.microseconds, r.gigabytes_per_second, 100.0 * r.of_read);
        std::fflush(stdout);
        all.push_back(r);
      }
    }
  if (!json.empty()) write_json(json, device->caps().name, read, all);
  return 0;
}

}  // namespace
}  // namespace conclave

int main(int argc, char** argv) {
  try {
    return conclave::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
