// One step of the engine: schedule, compute, sample, deliver. Everything here runs on the engine thread.
#include <algorithm>
#include <utility>

#include "engine/core.h"

namespace conclave {
namespace {

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

Timings timings_of(const Sequence& s) {
  Timings out;
  if (!s.begun) return out;
  out.queue = seconds(s.started - s.submitted);
  if (s.generated() == 0) return out;
  out.prefill = seconds(s.first_token - s.started);
  out.first_token = out.queue + out.prefill;
  out.decode = seconds(s.last_token - s.first_token);
  return out;
}

}  // namespace

bool EngineCore::step() {
  inbox_.take_all(waiting_);
  end_cancelled();
  const bool work = !running_.empty() || !waiting_.empty();
  if (work) {
    try {
      run_step();
    } catch (const Error& e) {
      fail_scheduled(e);
    } catch (const std::bad_alloc&) {
      fail_scheduled(Error(Errc::out_of_memory, "no memory for the step"));
    }
    drop_ended();
  }
  counters_.running = static_cast<std::int32_t>(running_.size());
  counters_.free_pages = pool_.free();
  return work;
}

void EngineCore::run_step() {
  step_began_ = Clock::now();
  schedule();
  forward();
  for (const Scheduled& w : scheduled_) {
    Sequence& s = *w.sequence;
    if (s.scores_prompt()) score_prompt(s, w);
    s.cached += w.rows;
    if (s.cached < s.known()) continue;
    if (s.max_tokens == 0) {
      end(s, FinishReason::length);
    } else {
      sample(s, logits_row(w.first_logits + w.logits - 1));
    }
  }
  ++counters_.steps;
}

void EngineCore::schedule() {
  const auto view = [](const std::unique_ptr<Sequence>& s) {
    return SequenceView{s->known(), s->cached, static_cast<std::int32_t>(s->pages.size()), s->scores_prompt()};
  };
  views_.clear();
  std::transform(running_.begin(), running_.end(), std::back_inserter(views_), view);
  std::transform(waiting_.begin(), waiting_.end(), std::back_inserter(views_), view);
  const std::span<const SequenceView> all = views_;
  const Plan& plan = scheduler_.next({all.first(running_.size()), all.subspan(running_.size()), pool_.free()});

  scheduled_.clear();
  std::size_t begins = 0;
  for (const Plan::Work& w : plan.work) {
    const auto index = static_cast<std::size_t>(w.index);
    begins += index >= running_.size() ? 1 : 0;
    Sequence* s = index < running_.size() ? running_[index].get() : waiting_[index - running_.size()].get();
    scheduled_.push_back({.sequence = s, .rows = w.rows, .new_pages = w.new_pages});
  }
  preempt(plan.preempted);
  begin(begins);
  for (const Scheduled& w : scheduled_) pool_.take(w.new_pages, w.sequence->pages);
}

// Their tokens stay; their keys and values will be computed again. They wait before all that have not begun, oldest first.
void EngineCore::preempt(std::span<const std::int32_t> youngest_first) {
  for (std::int32_t index : youngest_first) {
    const auto at = running_.begin() + index;
    give_back(**at);
    (*at)->cached = 0;
    waiting_.insert(waiting_.begin(), std::move(*at));
    running_.erase(at);
    ++counters_.preemptions;
    ++counters_.preempted;
  }
}

void EngineCore::begin(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Sequence& s = *waiting_[i];
    s.slot = free_slots_.back();
    free_slots_.pop_back();
    if (s.begun) {
      --counters_.preempted;
      continue;
    }
    s.begun = true;
    s.started = step_began_;
    inbox_.leave();
  }
  const auto last = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(waiting_.begin(), last, std::back_inserter(running_));
  waiting_.erase(waiting_.begin(), last);
}

void EngineCore::forward() {
  const Batch batch = batch_.build(scheduled_);
  const TensorView logits = logits_.rows(0, static_cast<std::int64_t>(batch.logits_rows.size()));
  {
    const Workspace::Scope scope(workspace_);
    loaded_.model->forward(batch, cache_, {*loaded_.ops, *stream_, workspace_}, logits);
  }
  stream_->synchronize();
  for (const Scheduled& w : scheduled_) {
    const std::int32_t prompt_left = w.sequence->prompt_tokens - w.sequence->cached;
    counters_.prompt_tokens += std::clamp(prompt_left, 0, w.rows);
  }
}

std::span<const float> EngineCore::logits_row(std::int32_t row) const noexcept {
  return {logits_.row<float>(row), static_cast<std::size_t>(info_.vocab)};
}

// The row of token i predicts token i + 1. After a preemption the first rows have been scored before.
void EngineCore::score_prompt(Sequence& s, const Scheduled& w) {
  for (std::int32_t i = 0; i < w.rows; ++i) {
    const std::int32_t next = s.cached + i + 1;
    if (next < s.scored || next >= s.prompt_tokens) continue;
    logprobs_.read(logits_row(w.first_logits + i));
    s.writer.send_prompt_logprob(logprobs_.of(s.tokens[static_cast<std::size_t>(next)]), logprobs_.top(s.prompt_logprobs));
    s.scored = next + 1;
  }
  s.writer.wake();
}

void EngineCore::sample(Sequence& s, std::span<const float> logits) {
  const auto banned = s.generated() < s.min_tokens ? std::span<const std::int32_t>(s.end_ids) : std::span<const std::int32_t>();
  const auto position = static_cast<std::uint64_t>(s.generated());
  const std::int32_t id = sampler_.sample({logits, s.sampling, s.counts, banned, s.seed, position});
  if (id == Sampler::kNone) {
    return end(s, FinishReason::error, {},
               Error(Errc::internal, "the model gave no usable logits (all of them are NaN or -infinity)"));
  }
  s.last_token = Clock::now();
  if (s.generated() == 0) s.first_token = s.last_token;
  s.tokens.push_back(id);
  if (s.counts.enabled()) s.counts.add_generated(id);
  ++counters_.generated_tokens;
  if (s.logprobs < 0) return deliver(s, id, nullptr, {});
  logprobs_.read(logits);
  const TokenLogprob logprob = logprobs_.of(id);
  deliver(s, id, &logprob, logprobs_.top(s.logprobs));
}

void EngineCore::deliver(Sequence& s, std::int32_t id, const TokenLogprob* logprob, std::span<const TokenLogprob> top) {
  const bool may_end = s.generated() > s.min_tokens;
  const auto end_id = std::find(s.end_ids.begin(), s.end_ids.end(), id);
  if (end_id != s.end_ids.end()) {
    if (s.keep_end_text) s.writer.take(id, false);
    s.writer.take_rest();
    s.writer.send(id, logprob, top);
    const bool silent = end_id - s.end_ids.begin() < s.silent_ends;
    return silent ? end(s, FinishReason::stop) : end(s, FinishReason::stop, id);
  }
  const std::int32_t stop = s.writer.take(id, may_end);
  const bool full = s.generated() == s.max_tokens;
  if (stop == StopMatcher::kNone && full) s.writer.take_rest();
  s.writer.send(id, logprob, top);
  if (stop != StopMatcher::kNone) return end(s, FinishReason::stop, s.writer.stop_string(stop));
  if (full) return end(s, FinishReason::length);
  s.writer.wake();
}

// What the cache holds of the sequence is lost.
void EngineCore::give_back(Sequence& s) noexcept {
  pool_.give_back(s.pages);
  if (s.slot != Sequence::kNoSlot) free_slots_.push_back(std::exchange(s.slot, Sequence::kNoSlot));
}

void EngineCore::end(Sequence& s, FinishReason reason, decltype(Done::stop_reason) stop_reason,
                     std::optional<Error> error) noexcept {
  give_back(s);
  s.ended = true;
  s.writer.finish({reason, std::move(stop_reason), {s.prompt_tokens, s.generated()}, timings_of(s), std::move(error)});
}

void EngineCore::fail_scheduled(const Error& error) noexcept {
  for (const Scheduled& w : scheduled_) {
    if (!w.sequence->ended) end(*w.sequence, FinishReason::error, {}, error);
  }
}

void EngineCore::drop_ended() noexcept {
  std::erase_if(running_, [](const std::unique_ptr<Sequence>& s) { return s->ended; });
  std::erase_if(waiting_, [this](const std::unique_ptr<Sequence>& s) {
    if (!s->ended) return false;
    if (s->begun) {
      --counters_.preempted;
    } else {
      inbox_.leave();
    }
    return true;
  });
}

void EngineCore::end_cancelled() {
  for (Sequences* list : {&running_, &waiting_}) {
    for (const auto& s : *list) {
      if (s->writer.cancelled()) end(*s, FinishReason::cancelled);
    }
  }
  drop_ended();
}

void EngineCore::end_all() {
  inbox_.take_all(waiting_);
  for (Sequences* list : {&running_, &waiting_}) {
    for (const auto& s : *list) end(*s, FinishReason::cancelled);
  }
  drop_ended();
  counters_.running = 0;
  counters_.free_pages = pool_.free();
}

}  // namespace conclave
