#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"
#include "base/math.h"

namespace conclave {

Scheduler::Scheduler(const SchedulerLimits& limits) : limits_(limits) {
  CONCLAVE_CHECK(limits.max_sequences <= limits.max_rows && limits.max_sequences <= limits.max_logits_rows);
  const auto most = static_cast<std::size_t>(limits.max_sequences);
  plan_.work.reserve(most);
  plan_.preempted.reserve(most);
  state_.reserve(most);
}

const Plan& Scheduler::next(const SchedulerView& view) {
  plan_.work.clear();
  plan_.preempted.clear();
  state_.assign(view.running.size(), State::idle);
  rows_left_ = limits_.max_rows;
  logits_left_ = limits_.max_logits_rows;
  free_ = view.free_pages;
  plan_answers(view);
  plan_prompts(view);
  if (plan_.preempted.empty()) admit(view);
  std::sort(plan_.work.begin(), plan_.work.end(), [](const Plan::Work& a, const Plan::Work& b) { return a.index < b.index; });
  return plan_;
}

void Scheduler::plan_answers(const SchedulerView& view) {
  for (std::size_t i = 0; i < view.running.size(); ++i) {
    const SequenceView& s = view.running[i];
    if (state_[i] != State::idle || s.known - s.cached != 1) continue;
    const auto index = static_cast<std::int32_t>(i);
    if (make_room(view, pages_for(s, 1), i) && state_[i] == State::idle) add(s, index, 1);
  }
}

void Scheduler::plan_prompts(const SchedulerView& view) {
  for (std::size_t i = 0; i < view.running.size(); ++i) {
    const SequenceView& s = view.running[i];
    if (state_[i] != State::idle) continue;
    // As many rows as the pages allow; another sequence is preempted only when not a single row fits.
    if (rows_left_ == 0 || !make_room(view, pages_for(s, 1), i + 1)) continue;
    const std::int32_t room = (s.pages + free_) * limits_.page_tokens - s.cached;
    add(s, static_cast<std::int32_t>(i), std::min({s.known - s.cached, rows_left_, room}));
  }
}

// A waiting sequence begins when all of its tokens fit beside what the running ones still have to compute of theirs: those that
// began first are never preempted for it.
void Scheduler::admit(const SchedulerView& view) {
  std::int32_t promised = 0;
  for (std::size_t i = 0; i < view.running.size(); ++i) {
    const SequenceView& s = view.running[i];
    promised += pages_for(s, s.known - s.cached);
  }
  const auto slots = static_cast<std::size_t>(limits_.max_sequences) - view.running.size();
  for (std::size_t i = 0; i < view.waiting.size() && i < slots; ++i) {
    const SequenceView& s = view.waiting[i];
    const std::int32_t all = pages_for(s, s.known);
    if (all > view.free_pages - promised) return;
    if (!add(s, static_cast<std::int32_t>(view.running.size() + i), std::min(s.known, rows_left_))) return;
    promised += all;
  }
}

// Preempts the youngest that are not planned, down to `oldest`, until `pages` are free. False when that was not enough.
bool Scheduler::make_room(const SchedulerView& view, std::int32_t pages, std::size_t oldest) {
  for (std::size_t i = view.running.size(); free_ < pages && i-- > oldest;) {
    if (state_[i] != State::idle) continue;
    state_[i] = State::preempted;
    plan_.preempted.push_back(static_cast<std::int32_t>(i));
    free_ += view.running[i].pages;
  }
  return free_ >= pages;
}

bool Scheduler::add(const SequenceView& s, std::int32_t index, std::int32_t rows) {
  const bool last = s.cached + rows == s.known;
  if (s.logits_per_row) rows = std::min(rows, logits_left_);
  const std::int32_t logits = s.logits_per_row ? rows : (last ? 1 : 0);
  if (rows <= 0 || logits > logits_left_) return false;
  const std::int32_t new_pages = pages_for(s, rows);
  plan_.work.push_back({index, rows, new_pages});
  if (static_cast<std::size_t>(index) < state_.size()) state_[static_cast<std::size_t>(index)] = State::planned;
  rows_left_ -= rows;
  logits_left_ -= logits;
  free_ -= new_pages;
  return true;
}

std::int32_t Scheduler::pages_for(const SequenceView& s, std::int32_t rows) const {
  return std::max(0, ceil_div(s.cached + rows, limits_.page_tokens) - s.pages);
}

}  // namespace conclave
