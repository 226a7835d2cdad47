#include "engine/kv_pool.h"

#include "base/check.h"

namespace conclave {

KvPool::KvPool(std::int32_t pages) : total_(pages) {
  free_.reserve(static_cast<std::size_t>(pages));
  for (std::int32_t page = pages; page-- > 0;) free_.push_back(page);
}

void KvPool::take(std::int32_t count, std::vector<std::int32_t>& pages) noexcept {
  CONCLAVE_CHECK(count >= 0 && count <= free());
  for (; count > 0; --count) {
    pages.push_back(free_.back());
    free_.pop_back();
  }
}

void KvPool::give_back(std::vector<std::int32_t>& pages) noexcept {
  CONCLAVE_CHECK(free_.size() + pages.size() <= static_cast<std::size_t>(total_));
  while (!pages.empty()) {
    free_.push_back(pages.back());
    pages.pop_back();
  }
}

}  // namespace conclave
