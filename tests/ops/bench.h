#pragma once
// What an operation needs to run in a test: the implementations beside one another, threads, memory and random rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/stream.h"
#include "ops/ops.h"
#include "tests/kernels/runnable.h"

namespace conclave::test {

// A float32 tensor with memory of its own, NaN until written: what an operation leaves out shows.
struct Tensor {
  explicit Tensor(Shape s) : shape(s), values(static_cast<std::size_t>(s.elements()), std::numeric_limits<float>::quiet_NaN()) {}
  Tensor(Shape s, std::vector<float> v) : shape(s), values(std::move(v)) {}
  static Tensor random(Shape s, std::mt19937& random, float deviation = 1.0f) {
    Tensor out(s);
    std::normal_distribution<float> normal(0.0f, deviation);
    for (float& v : out.values) v = normal(random);
    return out;
  }
  TensorView view() { return {reinterpret_cast<std::byte*>(values.data()), DType::f32, shape}; }
  ConstTensorView view() const { return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, shape}; }

  Shape shape;
  std::vector<float> values;
};

// One implementation with a pool that may be larger than the machine.
class Bench {
 public:
  static Bench reference() { return Bench(make_reference_ops(), 1); }
  static Bench cpu(CpuIsa isa, int threads) { return Bench(make_cpu_ops(caps(isa, threads)), threads); }
  static DeviceCaps caps(CpuIsa isa, int threads) {
    DeviceCaps caps;
    caps.isa = isa;
    caps.threads = threads;
    return caps;
  }

  const Ops& ops() const { return *ops_; }
  Stream& stream() { return *stream_; }
  Workspace workspace(std::size_t bytes) const { return Workspace(allocate_host(bytes)); }

 private:
  Bench(std::unique_ptr<Ops> ops, int threads)
      : ops_(std::move(ops)),
        pool_(std::make_unique<ThreadPool>(threads, ThreadPool::Limit::none)),
        stream_(std::make_unique<CpuStream>(*pool_)) {}
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<CpuStream> stream_;
};

// Every instruction set of this machine, alone and with more threads than cores are likely to be free.
inline std::vector<Bench> cpu_benches() {
  std::vector<Bench> benches;
  for (CpuIsa isa : runnable_isas()) {
    benches.push_back(Bench::cpu(isa, 1));
    benches.push_back(Bench::cpu(isa, 3));
  }
  return benches;
}

// |got - want| <= absolute + relative * |want| for every element; NaN only where NaN is wanted.
inline testing::AssertionResult close(const std::vector<float>& got, const std::vector<float>& want, double relative,
                                      double absolute) {
  if (got.size() != want.size()) return testing::AssertionFailure() << got.size() << " values, not " << want.size();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double g = got[i], w = want[i];
    if (std::isnan(w) && std::isnan(g)) continue;
    if (!(std::abs(g - w) <= absolute + relative * std::abs(w)))
      return testing::AssertionFailure() << "element " << i << " is " << g << ", not " << w;
  }
  return testing::AssertionSuccess();
}

}  // namespace conclave::test
