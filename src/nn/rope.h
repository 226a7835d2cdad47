#pragma once
// Angles of rotary position embeddings, from a model's configuration.
#include <cstdint>
#include <string>
#include <vector>

namespace conclave {

// Rotary embedding as configured. Fields that a type does not use keep their defaults.
struct RopeConfig {
  std::string type = "default";  // default, linear, llama3, yarn, longrope
  double theta = 10000.0;
  double factor = 1.0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;              // yarn
  double mscale = 0.0, mscale_all_dim = 0.0;             // yarn, DeepSeek's two; 0: not given
  double attention_factor = 0.0;                         // yarn, longrope; 0: not given
  bool truncate = true;                                  // yarn: whole-numbered ramp ends
  std::int64_t original_max_positions = 0;               // llama3, yarn, longrope: the length the model was trained at
  std::vector<double> short_factor, long_factor;         // longrope: divide the frequencies, one per pair
  // longrope: the longest context that will be run. One set of factors serves a whole cache, so it decides: the short ones up to
  // the trained length, the long ones beyond.
  std::int64_t longest_context = 0;
};

struct RopeFrequencies {
  std::vector<float> inv_freq;  // [rotary_dim / 2]; the angle at position p is p * inv_freq[i]
  float magnitude = 1.0f;       // multiplies cos and sin
};

// Formulas: llama3 as Meta's reference code, YaRN (arXiv:2309.00071) and LongRoPE (arXiv:2402.13753) as transformers computes them.
// Throws Error{unsupported} for a type that is not known and for factors that are not one per pair. rotary_dim is even.
RopeFrequencies rope_frequencies(const RopeConfig&, int rotary_dim);

// 0.1 * mscale * ln(factor) + 1, and 1 where factor <= 1: YaRN's attention temperature.
double yarn_mscale(double factor, double mscale);

}  // namespace conclave
