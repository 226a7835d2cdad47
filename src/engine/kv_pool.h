#pragma once
// Who has which page of the KV cache. Pages are handed out lowest number first at the start and most recently freed first
// later, so that memory that was never needed is never touched.
#include <cstdint>
#include <vector>

namespace conclave {

class KvPool {
 public:
  explicit KvPool(std::int32_t pages);

  std::int32_t total() const noexcept { return total_; }
  std::int32_t free() const noexcept { return static_cast<std::int32_t>(free_.size()); }

  // Appends `count` pages to `pages`, which has room for them; count <= free().
  void take(std::int32_t count, std::vector<std::int32_t>& pages) noexcept;
  // Gives all of `pages` back and empties it.
  void give_back(std::vector<std::int32_t>& pages) noexcept;

 private:
  std::int32_t total_;
  std::vector<std::int32_t> free_;  // the next one last
};

}  // namespace conclave
