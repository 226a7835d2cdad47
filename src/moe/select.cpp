#include "moe/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/check.h"
#include "base/in_quotes.h"
#include "base/nearest.h"
#include "conclave/error.h"

namespace conclave::moe {
namespace {

// The reference may step in by itself when one token takes it no longer than this.
constexpr double kTinyMicroseconds = 20e3;

std::string normalised(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string words_of(const Support& support) {
  std::vector<std::string> words;
  for (const Reason& r : support.reasons()) words.push_back(fmt::format("{} ({})", to_string(r.why), r.text));
  return fmt::format("{}", fmt::join(words, "; "));
}

using Cost = double Candidate::*;

// The cheapest that can, of one intent; the first registered of equals.
const Candidate* cheapest(const std::vector<Candidate>& all, Cost cost, std::initializer_list<Intent> intents) {
  const Candidate* best = nullptr;
  for (const Candidate& c : all)
    if (c.support && std::ranges::find(intents, c.backend->intent()) != intents.end() && (best == nullptr || c.*cost < best->*cost))
      best = &c;
  return best;
}

const Candidate* choose_by_intent(const std::vector<Candidate>& all, std::string_view wanted) {
  const Candidate* best = nullptr;
  if (wanted == "auto") {
    best = cheapest(all, &Candidate::cost_decode, {Intent::general, Intent::latency, Intent::throughput});
  } else {
    const bool latency = wanted == "latency";
    const Cost cost = latency ? &Candidate::cost_decode : &Candidate::cost_prefill;
    best = cheapest(all, cost, {latency ? Intent::latency : Intent::throughput});
    if (best == nullptr) best = cheapest(all, cost, {Intent::general});
  }
  if (best == nullptr) best = cheapest(all, &Candidate::cost_decode, {Intent::reference});
  const bool too_slow = best != nullptr && best->backend->intent() == Intent::reference && best->cost_decode > kTinyMicroseconds;
  return too_slow ? nullptr : best;
}

constexpr std::string_view kIntents[] = {"auto", "latency", "throughput"};

bool is_intent(std::string_view name) { return std::ranges::find(kIntents, name) != std::end(kIntents); }

void choose(Selection& selection) {
  selection.chosen = nullptr;
  if (is_intent(selection.wanted)) {
    const Candidate* best = choose_by_intent(selection.considered, selection.wanted);
    if (best != nullptr) selection.chosen = best->backend;
    return;
  }
  const auto named =
      std::ranges::find(selection.considered, selection.wanted, [](const Candidate& c) { return c.backend->name(); });
  if (!named->support) {
    throw Error(Errc::unsupported, fmt::format("MoE backend '{}' cannot run this problem: {}; name another one, or 'auto'",
                                               selection.wanted, words_of(named->support)));
  }
  selection.chosen = named->backend;
}

}  // namespace

std::string checked_name(std::string_view wanted, std::span<const MoeBackend* const> backends) {
  std::vector<std::string_view> known(std::begin(kIntents), std::end(kIntents));
  for (const MoeBackend* b : backends) known.push_back(b->name());
  std::string name = normalised(wanted);
  if (std::ranges::find(known, name) == known.end())
    throw Error(Errc::bad_input, fmt::format("unknown MoE backend {}{}; there are {}", in_quotes(wanted), did_you_mean(name, known),
                                             fmt::join(known, ", ")));
  return name;
}

Selection select_backend(const MoeProblem& problem, const DeviceCaps& caps, std::span<const MoeBackend* const> backends,
                         std::string_view wanted) {
  Selection selection;
  selection.wanted = checked_name(wanted, backends);
  for (const MoeBackend* b : backends)
    selection.considered.push_back(
        {b, b->supports(problem, caps), b->cost(problem, caps, 1), b->cost(problem, caps, problem.max_tokens)});
  selection.prefill_tokens = problem.max_tokens;
  choose(selection);
  return selection;
}

const MoeBackend& Selection::chosen_for(const MoeProblem& problem, const DeviceCaps& caps) const {
  if (chosen == nullptr)
    throw Error(Errc::unsupported, fmt::format("no MoE backend runs {} on {}:\n{}", to_string(problem), caps.name, explain()));
  return *chosen;
}

void Selection::refuse_chosen(Why why, std::string words) {
  const auto at = std::ranges::find(considered, chosen, &Candidate::backend);
  CONCLAVE_CHECK(at != considered.end());
  at->support.need(false, why, std::move(words));
  choose(*this);
}

std::string Selection::explain() const {
  std::string out;
  for (const Candidate& c : considered) {
    out += fmt::format("{} {}: ", c.backend == chosen ? '*' : ' ', c.backend->name());
    out += c.support
               ? fmt::format("can, {:.0f} us expected for 1 token, {:.0f} us for {}", c.cost_decode, c.cost_prefill, prefill_tokens)
               : words_of(c.support);
    out += '\n';
  }
  if (chosen == nullptr) out += "no backend can run this problem\n";
  return out;
}

}  // namespace conclave::moe
