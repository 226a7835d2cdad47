#pragma once
// Everything wrong with one thing, told at once; a user should not have to find the second mistake by mending the first.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conclave/error.h"

namespace conclave {

class Problems {
 public:
  static constexpr std::size_t kMostTold = 20;  // of the others only the number is kept

  void add(std::string words) {
    if (++count_ <= kMostTold) told_.push_back(std::move(words));
  }
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }

  // One problem: "where: words"; several: "where: 3 problems" and a line for each.
  std::string words(std::string_view where) const {
    std::string out(where);
    if (count_ == 1) return out + ": " + told_.front();
    out += ": " + std::to_string(count_) + " problems";
    for (const std::string& problem : told_) out += "\n  - " + problem;
    if (count_ > told_.size()) out += "\n  - and " + std::to_string(count_ - told_.size()) + " more";
    return out;
  }
  void throw_if_any(Errc code, std::string_view where) const {
    if (!empty()) throw Error(code, words(where));
  }

 private:
  std::vector<std::string> told_;
  std::size_t count_ = 0;
};

}  // namespace conclave
