#pragma once
// Everything wrong with one thing, told at once; a user should not have to find the second mistake by mending the first.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conclave/error.h"

namespace conclave {

// An error whose what() tells the first of many problems. Error::with_context() makes a plain Error of it, without the list.
class ListedError final : public Error {
 public:
  ListedError(Errc code, const std::string& words, std::vector<std::string> problems)
      : Error(code, words), problems_(std::move(problems)) {}
  // One by one, each with where it is. The last may be "and N more": Problems::kMostListed are kept.
  const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  std::vector<std::string> problems_;
};

// One by one, where they are listed.
inline std::vector<std::string> problems_of(const Error& error) {
  const auto* listed = dynamic_cast<const ListedError*>(&error);
  return listed != nullptr ? listed->problems() : std::vector<std::string>{error.what()};
}

class Problems {
 public:
  static constexpr std::size_t kMostTold = 20;        // in words()
  static constexpr std::size_t kMostListed = 100000;  // of the others only the number is kept

  void add(std::string words) {
    if (++count_ <= kMostListed) listed_.push_back(std::move(words));
  }
  void add(const Error& error) {
    for (std::string& words : problems_of(error)) add(std::move(words));
  }
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }

  // One problem: "where: words"; several: "where: 3 problems" and a line for each.
  std::string words(std::string_view where) const {
    std::string out(where);
    if (count_ == 1) return out + ": " + listed_.front();
    out += ": " + std::to_string(count_) + " problems";
    for (std::size_t i = 0; i < count_ && i < kMostTold; ++i) out += "\n  - " + listed_[i];
    if (count_ > kMostTold) out += "\n  - and " + std::to_string(count_ - kMostTold) + " more";
    return out;
  }
  // A ListedError.
  void throw_if_any(Errc code, std::string_view where) const {
    if (empty()) return;
    std::vector<std::string> all;
    for (const std::string& problem : listed_) all.push_back(std::string(where) + ": " + problem);
    if (count_ > listed_.size()) all.push_back("and " + std::to_string(count_ - listed_.size()) + " more");
    throw ListedError(code, words(where), std::move(all));
  }

 private:
  std::vector<std::string> listed_;
  std::size_t count_ = 0;
};

}  // namespace conclave
