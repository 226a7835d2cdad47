#pragma once
// Finds stop strings in text that arrives in pieces, wherever the pieces are cut: text that may begin a stop string is held
// until that is decided. One pass over the text per stop string (Knuth, Morris, Pratt), so no choice of strings is slow.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace conclave {

class StopMatcher {
 public:
  static constexpr std::int32_t kNone = -1;

  StopMatcher() = default;
  // No string is empty. `keep`: the stop string itself is text too.
  StopMatcher(const std::vector<std::string>& stops, bool keep);

  // Appends the text that is decided to `out`. Returns the index of the stop string that ended it, after which nothing may be
  // pushed, or kNone. Among strings that end at the same byte the longest counts.
  std::int32_t push(std::string_view text, std::string& out);
  // Appends what is held and forgets it: no match may begin in it any more.
  void release(std::string& out);

  const std::string& stop(std::int32_t index) const { return patterns_[static_cast<std::size_t>(index)].text; }
  std::size_t longest() const noexcept { return longest_; }  // bytes; fewer than these are held

 private:
  struct Pattern {
    std::string text;
    std::vector<std::uint32_t> fallback;  // [n]: the longest proper beginning of text that text[0, n) ends with
    std::size_t matched = 0;              // the longest beginning of text that the text so far ends with

    explicit Pattern(std::string);
    void advance(char byte);
  };

  std::vector<Pattern> patterns_;
  bool keep_ = false;
  std::size_t longest_ = 0;
  std::string held_;
};

}  // namespace conclave
