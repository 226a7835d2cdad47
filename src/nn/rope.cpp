#include "nn/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "conclave/error.h"

namespace conclave {
namespace {

double llama3_frequency(const RopeConfig& c, double frequency) {
  const auto trained = static_cast<double>(c.original_max_positions);
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < trained / c.high_freq_factor) return frequency;
  if (wavelength > trained / c.low_freq_factor) return frequency / c.factor;
  if (c.low_freq_factor == c.high_freq_factor) return frequency / c.factor;
  const double smooth = (trained / wavelength - c.low_freq_factor) / (c.high_freq_factor - c.low_freq_factor);
  return (1 - smooth) * frequency / c.factor + smooth * frequency;
}

// The dimension whose frequency turns `rotations` times over the trained length.
double yarn_dimension(const RopeConfig& c, int rotary_dim, double rotations) {
  return rotary_dim * std::log(static_cast<double>(c.original_max_positions) / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(c.theta));
}

void yarn_frequencies(const RopeConfig& c, int rotary_dim, std::vector<float>& inv_freq) {
  double low = yarn_dimension(c, rotary_dim, c.beta_fast);
  double high = yarn_dimension(c, rotary_dim, c.beta_slow);
  if (c.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotary_dim - 1));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    inv_freq[i] = static_cast<float>(inv_freq[i] * (1 - ramp) + inv_freq[i] / c.factor * ramp);
  }
}

double yarn_magnitude(const RopeConfig& c) {
  if (c.attention_factor != 0) return c.attention_factor;
  if (c.mscale != 0 && c.mscale_all_dim != 0) return yarn_mscale(c.factor, c.mscale) / yarn_mscale(c.factor, c.mscale_all_dim);
  return yarn_mscale(c.factor, 1.0);
}

void longrope_frequencies(const RopeConfig& c, std::vector<float>& inv_freq) {
  for (const auto& [key, factors] : {std::pair{"short_factor", &c.short_factor}, std::pair{"long_factor", &c.long_factor}})
    if (factors->size() != inv_freq.size())
      throw Error(Errc::unsupported,
                  fmt::format("config.json: {} of longrope has {} values; expected {}, one per pair of turned dimensions", key,
                              factors->size(), inv_freq.size()));
  const std::vector<double>& factors = c.longest_context > c.original_max_positions ? c.long_factor : c.short_factor;
  for (std::size_t i = 0; i < inv_freq.size(); ++i) inv_freq[i] = static_cast<float>(inv_freq[i] / factors[i]);
}

double longrope_magnitude(const RopeConfig& c) {
  if (c.attention_factor != 0) return c.attention_factor;
  return c.factor <= 1 ? 1.0 : std::sqrt(1 + std::log(c.factor) / std::log(static_cast<double>(c.original_max_positions)));
}

}  // namespace

double yarn_mscale(double factor, double mscale) { return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0; }

RopeFrequencies rope_frequencies(const RopeConfig& c, int rotary_dim) {
  RopeFrequencies out;
  for (int i = 0; i < rotary_dim; i += 2)
    out.inv_freq.push_back(static_cast<float>(1.0 / std::pow(c.theta, static_cast<double>(i) / rotary_dim)));
  if (c.type == "default") return out;
  if (c.type == "linear") {
    for (float& f : out.inv_freq) f = static_cast<float>(f / c.factor);
  } else if (c.type == "llama3") {
    for (float& f : out.inv_freq) f = static_cast<float>(llama3_frequency(c, f));
  } else if (c.type == "yarn") {
    yarn_frequencies(c, rotary_dim, out.inv_freq);
    out.magnitude = static_cast<float>(yarn_magnitude(c));
  } else if (c.type == "longrope") {
    longrope_frequencies(c, out.inv_freq);
    out.magnitude = static_cast<float>(longrope_magnitude(c));
  } else {
    throw Error(Errc::unsupported, "config.json: rope type '" + c.type + "' is not one of default, linear, llama3, yarn, longrope");
  }
  return out;
}

}  // namespace conclave
