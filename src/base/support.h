#pragma once
// The answer to "can you do this?": yes, or every reason why not.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conclave {

enum class Why { device, dtype, quant, routing, activation, shape, tokens, parallel, determinism, build };

constexpr std::string_view to_string(Why why) {
  constexpr std::string_view kNames[] = {"device", "dtype",  "quant",    "routing",     "activation",
                                         "shape",  "tokens", "parallel", "determinism", "build"};
  return kNames[static_cast<int>(why)];
}

struct Reason {
  Why why;
  std::string text;
};

class [[nodiscard]] Support {
 public:
  // Records a reason when the requirement does not hold. Never stops at the first one.
  Support& need(bool holds, Why why, std::string text) {
    if (!holds) reasons_.push_back({why, std::move(text)});
    return *this;
  }
  explicit operator bool() const { return reasons_.empty(); }
  const std::vector<Reason>& reasons() const { return reasons_; }

 private:
  std::vector<Reason> reasons_;
};

}  // namespace conclave
