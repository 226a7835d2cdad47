#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace conclave {

StopMatcher::Pattern::Pattern(std::string words) : text(std::move(words)), fallback(text.size() + 1, 0) {
  for (std::size_t n = 1; n < text.size(); ++n) {
    advance(text[n]);
    fallback[n + 1] = static_cast<std::uint32_t>(matched);
  }
  matched = 0;
}

void StopMatcher::Pattern::advance(char byte) {
  while (matched > 0 && text[matched] != byte) matched = fallback[matched];
  if (text[matched] == byte) ++matched;
}

StopMatcher::StopMatcher(const std::vector<std::string>& stops, bool keep) : keep_(keep) {
  for (const std::string& s : stops) {
    patterns_.emplace_back(s);
    longest_ = std::max(longest_, s.size());
  }
  held_.reserve(longest_);
}

std::int32_t StopMatcher::push(std::string_view text, std::string& out) {
  if (patterns_.empty()) {
    out += text;
    return kNone;
  }
  for (const char byte : text) {
    held_ += byte;
    std::size_t undecided = 0;
    std::int32_t ended = kNone;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      Pattern& p = patterns_[i];
      p.advance(byte);
      undecided = std::max(undecided, p.matched);
      if (p.matched < p.text.size()) continue;
      if (ended == kNone || p.text.size() > stop(ended).size()) ended = static_cast<std::int32_t>(i);
    }
    const std::size_t cut = ended == kNone ? undecided : keep_ ? 0 : stop(ended).size();
    out.append(held_, 0, held_.size() - cut);
    if (ended != kNone) return ended;
    held_.erase(0, held_.size() - cut);
  }
  return kNone;
}

void StopMatcher::release(std::string& out) {
  out += held_;
  held_.clear();
  for (Pattern& p : patterns_) p.matched = 0;
}

}  // namespace conclave
