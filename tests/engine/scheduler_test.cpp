#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/math.h"
#include "engine/kv_pool.h"

namespace conclave {
namespace {

TEST(KvPool, HandsOutEveryPageOnce) {
  KvPool pool(5);
  std::vector<std::int32_t> a, b;
  pool.take(3, a);
  pool.take(2, b);
  EXPECT_EQ(a, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(b, (std::vector<std::int32_t>{3, 4}));
  EXPECT_EQ(pool.free(), 0);
  pool.give_back(a);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(pool.free(), 3);
  pool.take(1, b);
  EXPECT_EQ(b.back(), 0);
}

TEST(Scheduler, AnswersGoBeforePromptsAndPromptsShareTheRest) {
  Scheduler scheduler({.page_tokens = 4, .max_rows = 10, .max_sequences = 4, .max_logits_rows = 4});
  const std::vector<SequenceView> running{{.known = 30, .cached = 8, .pages = 2}, {.known = 5, .cached = 4, .pages = 1}};
  const std::vector<SequenceView> waiting{{.known = 3}, {.known = 50}};
  const Plan& plan = scheduler.next({running, waiting, 100});
  ASSERT_EQ(plan.work.size(), 2u);  // the long prompt takes all that the answer leaves
  EXPECT_EQ(plan.work[0].index, 0);
  EXPECT_EQ(plan.work[0].rows, 9);
  EXPECT_EQ(plan.work[0].new_pages, 3);
  EXPECT_EQ(plan.work[1].index, 1);
  EXPECT_EQ(plan.work[1].rows, 1);
  EXPECT_EQ(plan.work[1].new_pages, 1);
  EXPECT_TRUE(plan.preempted.empty());
}

TEST(Scheduler, AdmitsInOrderWhilePagesAreUnpromised) {
  Scheduler scheduler({.page_tokens = 4, .max_rows = 100, .max_sequences = 4, .max_logits_rows = 4});
  const std::vector<SequenceView> running{{.known = 80, .cached = 4, .pages = 1}};  // still needs 19 pages
  const std::vector<SequenceView> waiting{{.known = 8}, {.known = 9}, {.known = 1}};
  const Plan& plan = scheduler.next({running, waiting, 22});
  ASSERT_EQ(plan.work.size(), 2u);  // the second needs 3 pages and 1 is left; the third may not overtake it
  EXPECT_EQ(plan.work[1].index, 1);
  EXPECT_EQ(plan.work[1].rows, 8);
}

TEST(Scheduler, ThePageOfAnAnswerComesFromTheYoungest) {
  Scheduler scheduler({.page_tokens = 4, .max_rows = 100, .max_sequences = 4, .max_logits_rows = 4});
  const std::vector<SequenceView> running{
      {.known = 5, .cached = 4, .pages = 1}, {.known = 6, .cached = 5, .pages = 2}, {.known = 7, .cached = 6, .pages = 2}};
  const std::vector<SequenceView> waiting{{.known = 1}};
  const Plan& plan = scheduler.next({running, waiting, 0});
  EXPECT_EQ(plan.preempted, (std::vector<std::int32_t>{2}));
  ASSERT_EQ(plan.work.size(), 2u);  // and nothing is admitted in the same step
  EXPECT_EQ(plan.work[0].new_pages, 1);
  EXPECT_EQ(plan.work[1].new_pages, 0);
}

TEST(Scheduler, ScoredPromptsAreLimitedByRowsOfLogits) {
  Scheduler scheduler({.page_tokens = 4, .max_rows = 100, .max_sequences = 4, .max_logits_rows = 6});
  const std::vector<SequenceView> running{{.known = 5, .cached = 4, .pages = 2}};
  const std::vector<SequenceView> waiting{{.known = 50, .logits_per_row = true}, {.known = 2}};
  const Plan& plan = scheduler.next({running, waiting, 100});
  ASSERT_EQ(plan.work.size(), 2u);
  EXPECT_EQ(plan.work[1].rows, 5);
}

// Random workloads against the rules, whatever their order: budgets kept, pages enough, progress in every step, the oldest
// running sequence never preempted, everybody ends.
struct Simulated {
  std::int32_t arrival, prompt, answer;
  SequenceView view;
  std::vector<std::int32_t> pages;
};

class Simulation {
 public:
  Simulation(std::uint32_t seed) : random_(seed) {
    limits_.page_tokens = number(1, 8);
    limits_.max_sequences = number(1, 6);
    limits_.max_rows = limits_.max_sequences + number(0, 20);
    limits_.max_logits_rows = limits_.max_sequences + number(0, 8);
    longest_ = number(limits_.page_tokens, 60);
    pool_ = KvPool(ceil_div(longest_, limits_.page_tokens) + number(0, 12));
    for (std::int32_t i = 0; i < 30; ++i) add(i);
  }

  void run() {
    Scheduler scheduler(limits_);
    for (int step = 0; !running_.empty() || !waiting_.empty(); ++step) {
      ASSERT_LT(step, 20000) << "no end";
      const std::vector<SequenceView> running = views(running_), waiting = views(waiting_);
      apply(scheduler.next({running, waiting, pool_.free()}));
      if (::testing::Test::HasFatalFailure()) return;
      check_pages();
    }
    EXPECT_EQ(pool_.free(), pool_.total());
    EXPECT_EQ(ended_, 30);
  }

 private:
  std::int32_t number(std::int32_t low, std::int32_t high) { return std::uniform_int_distribution(low, high)(random_); }

  void add(std::int32_t arrival) {
    const std::int32_t prompt = number(1, longest_);
    const std::int32_t answer = number(1, longest_ - prompt + 1);
    waiting_.push_back({arrival, prompt, answer, {.known = prompt, .logits_per_row = number(0, 4) == 0}, {}});
  }

  static std::vector<SequenceView> views(const std::vector<Simulated>& list) {
    std::vector<SequenceView> out;
    for (const Simulated& s : list) out.push_back(s.view);
    return out;
  }

  void apply(const Plan& plan) {
    ASSERT_FALSE(plan.work.empty());
    const std::size_t was_running = running_.size();
    std::vector<Simulated> work;
    std::int32_t rows = 0, logits = 0;
    for (const Plan::Work& w : plan.work) {
      const auto index = static_cast<std::size_t>(w.index);
      if (index >= was_running) {
        ASSERT_TRUE(plan.preempted.empty());
        ASSERT_EQ(index, running_.size());  // in order of arrival
        running_.push_back(waiting_.front());
        waiting_.erase(waiting_.begin());
      }
      const SequenceView& s = running_[index].view;
      rows += w.rows;
      logits += s.logits_per_row ? w.rows : s.cached + w.rows == s.known ? 1 : 0;
      ASSERT_GT(w.rows, 0);
      ASSERT_LE(s.cached + w.rows, s.known);
      ASSERT_EQ(std::count(plan.preempted.begin(), plan.preempted.end(), w.index), 0);
    }
    ASSERT_LE(rows, limits_.max_rows);
    ASSERT_LE(logits, limits_.max_logits_rows);
    ASSERT_LE(running_.size(), static_cast<std::size_t>(limits_.max_sequences));
    for (std::int32_t index : plan.preempted) {
      ASSERT_NE(index, 0);
      pool_.give_back(running_[static_cast<std::size_t>(index)].pages);
    }
    for (const Plan::Work& w : plan.work) compute(running_[static_cast<std::size_t>(w.index)], w);
    for (std::int32_t index : plan.preempted) preempt(static_cast<std::size_t>(index));
    std::erase_if(running_, [&](Simulated& s) { return s.view.known >= s.prompt + s.answer && end(s); });
  }

  void compute(Simulated& s, const Plan::Work& w) {
    ASSERT_LE(w.new_pages, pool_.free());
    pool_.take(w.new_pages, s.pages);
    s.view.cached += w.rows;
    s.view.pages = static_cast<std::int32_t>(s.pages.size());
    ASSERT_GE(s.view.pages * limits_.page_tokens, s.view.cached);
    if (s.view.cached == s.view.known) ++s.view.known;
  }

  void preempt(std::size_t index) {
    Simulated s = running_[index];
    s.view.cached = s.view.pages = 0;
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
    waiting_.insert(waiting_.begin(), s);
    ASSERT_TRUE(
        std::is_sorted(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) { return a.arrival < b.arrival; }));
  }

  bool end(Simulated& s) {
    pool_.give_back(s.pages);
    ++ended_;
    return true;
  }

  void check_pages() {
    std::vector<std::int32_t> held;
    for (const Simulated& s : running_) held.insert(held.end(), s.pages.begin(), s.pages.end());
    ASSERT_EQ(static_cast<std::int32_t>(held.size()) + pool_.free(), pool_.total());
    std::sort(held.begin(), held.end());
    ASSERT_EQ(std::adjacent_find(held.begin(), held.end()), held.end()) << "a page is held twice";
  }

  std::mt19937 random_;
  SchedulerLimits limits_;
  std::int32_t longest_ = 0;
  KvPool pool_{0};
  std::vector<Simulated> running_, waiting_;
  int ended_ = 0;
};

TEST(Scheduler, RandomWorkloadsEndAndKeepTheRules) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Simulation(seed).run();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace conclave
