#pragma once
// A token and its logit, and the one order among them.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace conclave {

struct Candidate {
  float logit;
  std::int32_t id;
};

// The greater logit first, the lower id among equals: a total order, because NaN is never a candidate.
inline bool more_likely(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

// Fills `out` (of at least logits.size()) with the tokens whose logit is at least `least` and neither NaN nor -inf, by id.
inline std::span<Candidate> candidates_from(std::span<const float> logits, float least, std::span<Candidate> out) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float logit = logits[i];
    if (!(logit >= least) || logit == -std::numeric_limits<float>::infinity()) continue;
    out[count++] = {logit, static_cast<std::int32_t>(i)};
  }
  return out.first(count);
}

// Sorts the likeliest `count` of them to the front, without sorting the others.
inline void sort_likeliest(std::span<Candidate> candidates, std::size_t count) {
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(std::min(count, candidates.size())),
                    candidates.end(), more_likely);
}

}  // namespace conclave
