#pragma once
// One layer of experts alone, with random weights and many routings, so that its kernels can be timed with no model around them.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/buffer.h"
#include "moe/build.h"

namespace conclave::cli {

// Published layers by name: what one meets when running that model.
struct ExpertShape {
  std::string_view name;
  std::int32_t hidden, inter, experts, top_k;
};
inline constexpr ExpertShape kExpertShapes[] = {
    {"qwen3-30b-a3b", 2048, 768, 128, 8}, {"qwen3.5-35b-a3b", 2048, 512, 256, 8}, {"minimax-m2", 3072, 1536, 256, 8},
    {"gpt-oss-120b", 2880, 2880, 128, 4}, {"llama-4-scout", 5120, 8192, 16, 1},   {"deepseek-v3", 7168, 2048, 256, 8},
};

// Formats by the names of to_string(QuantScheme).
std::vector<std::string> expert_formats();
QuantScheme expert_format(std::string_view name);  // one of these

// The problem of a shape: gated silu, softmax over the chosen; what a model adds to that (biases, groups) costs next to nothing.
moe::MoeProblem problem_of(const ExpertShape&, const QuantScheme&);

enum class Routing : std::uint8_t { uniform, skewed };  // skewed: expert i is wanted in proportion to 1 / (1 + i)

// Copies of a layer, as many as are needed for the weights to exceed four times the last-level cache (but no more than 1024), and
// calls that go round them.
class BenchedExperts {
 public:
  // Throws Error, of which out_of_memory when the weights and their packed copy cannot be held.
  BenchedExperts(const moe::MoeProblem&, Routing, Device&, std::string_view backend, bool verify);

  const moe::BuiltMoe& built() const { return layers_.front(); }
  std::int64_t copies() const { return static_cast<std::int64_t>(layers_.size()); }
  double layer_bytes() const { return layer_bytes_; }  // of one copy as published

  struct Times {
    double seconds = 0.0;         // of one call, over the round
    double active_experts = 0.0;  // distinct ones a call, on average
    double active_bytes = 0.0;    // of their weights
    double operations = 0.0;      // of a call, two for each product and its sum
  };
  // One round of calls of so many tokens, each with a routing of its own; the first round of a size makes its inputs.
  Times round(std::int64_t tokens);

 private:
  struct Inputs {
    std::int64_t tokens = 0;
    Buffer hidden, bias, out;
    std::vector<Buffer> logits;  // one for each call of a round
    double active_experts = 0.0;
  };
  void prepare(std::int64_t tokens);

  moe::MoeProblem problem_;
  Routing routing_;
  Device& device_;
  std::unique_ptr<Stream> stream_;
  double layer_bytes_ = 0.0;
  std::vector<std::shared_ptr<const void>> kept_;  // weights that kernels look at in place
  std::vector<moe::BuiltMoe> layers_;
  Inputs inputs_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace conclave::cli
