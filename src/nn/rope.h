#pragma once
// Angles of rotary position embeddings, from a model's configuration.
#include <cstdint>
#include <string>
#include <vector>

namespace conclave {

// Rotary embedding as configured. Fields that a type does not use keep their defaults.
struct RopeConfig {
  std::string type = "default";  // default, linear, llama3, yarn
  double theta = 10000.0;
  double factor = 1.0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;              // yarn
  double mscale = 0.0, mscale_all_dim = 0.0;             // yarn, DeepSeek's two; 0: not given
  double attention_factor = 0.0;                         // yarn; 0: not given
  bool truncate = true;                                  // yarn: whole-numbered ramp ends
  std::int64_t original_max_positions = 0;               // llama3, yarn: the length the model was trained at
};

struct RopeFrequencies {
  std::vector<float> inv_freq;  // [rotary_dim / 2]; the angle at position p is p * inv_freq[i]
  float magnitude = 1.0f;       // multiplies cos and sin
};

// Formulas: llama3 as Meta's reference code, YaRN (arXiv:2309.00071) as transformers computes it. Throws Error{unsupported} for a
// type that is not known. rotary_dim is even.
RopeFrequencies rope_frequencies(const RopeConfig&, int rotary_dim);

// 0.1 * mscale * ln(factor) + 1, and 1 where factor <= 1: YaRN's attention temperature.
double yarn_mscale(double factor, double mscale);

}  // namespace conclave
