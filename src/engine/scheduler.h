#pragma once
// What the next step computes. Pure: numbers in, a plan out; no clock, no device, no lock, no allocation after construction.
//
// Sequences that have one token to compute (they are answering) go first, then prompts share what is left of the row budget,
// both oldest first. Prompts longer than that are computed in chunks. When an answer needs a page and none is free, the youngest
// running sequence gives its pages up and is computed again later; so the oldest always gets on, and all end.
#include <cstdint>
#include <span>
#include <vector>

namespace conclave {

struct SequenceView {
  std::int32_t known = 0;       // tokens of prompt and answer so far
  std::int32_t cached = 0;      // of them, computed; < known
  std::int32_t pages = 0;       // held; hold `cached` tokens at least
  bool logits_per_row = false;  // every computed row needs a row of logits, not only the last
};

struct SchedulerLimits {
  std::int32_t page_tokens = 16;
  std::int32_t max_rows = 512;        // of one step
  std::int32_t max_sequences = 32;    // that run at once; <= max_rows
  std::int32_t max_logits_rows = 64;  // of one step; >= max_sequences
};

struct SchedulerView {
  std::span<const SequenceView> running;  // oldest first
  std::span<const SequenceView> waiting;  // oldest first; nothing of them is in the cache
  std::int32_t free_pages = 0;
};

struct Plan {
  struct Work {
    std::int32_t index = 0;      // in view.running, after it in view.waiting
    std::int32_t rows = 0;       // to compute, > 0
    std::int32_t new_pages = 0;  // to take first
  };
  std::vector<Work> work;               // ascending index; those of waiting sequences admit them
  std::vector<std::int32_t> preempted;  // in view.running, youngest first; their pages come back before any is taken
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerLimits&);
  // Never empty when anything runs or waits, as long as every sequence alone fits into all pages.
  const Plan& next(const SchedulerView&);

 private:
  void plan_answers(const SchedulerView&);
  void plan_prompts(const SchedulerView&);
  void admit(const SchedulerView&);
  bool make_room(const SchedulerView&, std::int32_t pages, std::size_t oldest);
  bool add(const SequenceView&, std::int32_t index, std::int32_t rows);
  std::int32_t pages_for(const SequenceView&, std::int32_t rows) const;

  enum class State : std::uint8_t { idle, planned, preempted };

  SchedulerLimits limits_;
  Plan plan_;
  std::vector<State> state_;  // of running sequences in this plan
  std::int32_t rows_left_ = 0, logits_left_ = 0, free_ = 0;
};

}  // namespace conclave
