#pragma once
// Weights of a problem from random numbers, in its format, with the memory they lie in.
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "moe/problem.h"
#include "moe/weights.h"
#include "quant/codec.h"

namespace conclave::moe {

class RandomExperts {
 public:
  explicit RandomExperts(const MoeProblem& problem, unsigned seed = 7) : problem_(problem), random_(seed) {
    // Gate and up of an expert differ in size by these factors, so that formats with a scale per matrix hold different ones.
    constexpr float kRatios[] = {1.0f, 0.25f, 4.0f, 10.0f};
    for (std::int32_t e = 0; e < problem.local_count; ++e) {
      Expert expert;
      if (problem.activation.gated) expert.gate = matrix(problem.inter, problem.hidden, 1.0f);
      expert.up = matrix(problem.inter, problem.hidden, kRatios[e % 4]);
      expert.down = matrix(problem.hidden, problem.inter, 1.0f);
      if (problem.expert_bias) {
        if (problem.activation.gated) expert.gate_bias = bias(problem.inter);
        expert.up_bias = bias(problem.inter);
        expert.down_bias = bias(problem.hidden);
      }
      weights_.experts.push_back(expert);
    }
  }

  const ExpertWeights& weights() const { return weights_; }
  ExpertWeights& weights() { return weights_; }

 private:
  float uniform() { return static_cast<float>(random_() >> 8) * 0x1p-23f - 1.0f; }  // [-1, 1)

  QuantMatrix matrix(std::int64_t rows, std::int64_t cols, float size) {
    std::vector<float> values(static_cast<std::size_t>(rows * cols));
    const float step = size * 1.7f / std::sqrt(static_cast<float>(cols));
    for (float& v : values) v = step * uniform();
    matrices_.push_back(problem_.weights == kF16 ? encode_f16(values, rows, cols)
                                                 : codec_for(problem_.weights).encode(values, rows, cols, problem_.weights));
    QuantMatrix out = matrices_.back().matrix;
    out.input_scale = 0.01f;
    return out;
  }
  // Codecs read f16 and never write it. Cut, not rounded; values below the smallest normal become 0.
  static OwnedMatrix encode_f16(const std::vector<float>& values, std::int64_t rows, std::int64_t cols) {
    OwnedMatrix out;
    out.buffers.push_back(allocate_host(values.size() * sizeof(f16)));
    const TensorView codes(out.buffers.back().data(), DType::f16, {rows, cols});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto u = std::bit_cast<std::uint32_t>(values[i]);
      const std::uint32_t magnitude = (u & 0x7fffffffu) >> 13, smallest = 113u << 10, rebased = 112u << 10;
      const std::uint32_t bits = magnitude < smallest ? 0u : magnitude - rebased;
      codes.as<f16>()[i] = f16{static_cast<std::uint16_t>((u >> 16 & 0x8000u) | bits)};
    }
    out.matrix.scheme = kF16;
    out.matrix.rows = rows;
    out.matrix.cols = cols;
    out.matrix.codes = codes;
    return out;
  }
  ConstTensorView bias(std::int64_t n) {
    biases_.push_back(std::make_unique<std::vector<float>>(static_cast<std::size_t>(n)));
    for (float& v : *biases_.back()) v = 0.3f * uniform();
    return TensorView(reinterpret_cast<std::byte*>(biases_.back()->data()), DType::f32, {n});
  }

  MoeProblem problem_;
  std::mt19937 random_;
  std::vector<OwnedMatrix> matrices_;
  std::vector<std::unique_ptr<std::vector<float>>> biases_;
  ExpertWeights weights_;
};

// A small problem that everything can run; tests change what they are about.
inline MoeProblem small_problem() {
  MoeProblem p;
  p.experts = p.local_count = 8;
  p.top_k = 2;
  p.hidden = 64;
  p.inter = 48;
  p.max_tokens = 257;
  p.routing.renorm = Renorm::sum;
  return p;
}

}  // namespace conclave::moe
