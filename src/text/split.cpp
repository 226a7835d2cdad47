#include "text/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "conclave/error.h"

namespace conclave {

SplitBehavior split_behavior(const JsonFields& fields, SplitBehavior otherwise) {
  const auto name = fields.optional_text("behavior");
  if (!name) return otherwise;
  if (*name == "Removed") return SplitBehavior::removed;
  if (*name == "Isolated") return SplitBehavior::isolated;
  if (*name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (*name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (*name == "Contiguous") return SplitBehavior::contiguous;
  throw Error(Errc::corrupt, fmt::format("{}: unknown behavior '{}'; expected Removed, Isolated, MergedWithPrevious, "
                                         "MergedWithNext or Contiguous",
                                         fields.path(), *name));
}

const std::vector<Segment>& Segments::arranged(SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::isolated: break;
    case SplitBehavior::removed: std::erase_if(list_, [](const Segment& part) { return part.is_match; }); break;
    case SplitBehavior::merged_with_previous: merge_with_previous(); break;
    case SplitBehavior::merged_with_next: merge_with_next(); break;
    case SplitBehavior::contiguous: join_equals(); break;
  }
  return list_;
}

// A match joins what is before it, unless that is a match too.
void Segments::merge_with_previous() {
  std::vector<Segment> merged;
  bool after_match = false;
  for (const Segment& part : list_) {
    if (part.is_match && !after_match && !merged.empty()) {
      merged.back().end = part.end;
    } else {
      merged.push_back(part);
    }
    after_match = part.is_match;
  }
  list_ = std::move(merged);
}

void Segments::merge_with_next() {
  std::vector<Segment> merged;  // backwards
  bool before_match = false;
  for (auto part = list_.rbegin(); part != list_.rend(); ++part) {
    if (part->is_match && !before_match && !merged.empty()) {
      merged.back().begin = part->begin;
    } else {
      merged.push_back(*part);
    }
    before_match = part->is_match;
  }
  std::reverse(merged.begin(), merged.end());
  list_ = std::move(merged);
}

void Segments::join_equals() {
  std::vector<Segment> merged;
  bool previous = false;
  for (const Segment& part : list_) {
    if (part.is_match == previous && !merged.empty()) {
      merged.back().end = part.end;
    } else {
      merged.push_back(part);
    }
    previous = part.is_match;
  }
  list_ = std::move(merged);
}

}  // namespace conclave
