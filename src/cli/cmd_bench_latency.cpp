// conclave bench latency: one batch at a time, as vLLM's command of that name.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/bench_engine.h"
#include "cli/cmd_bench.h"
#include "cli/number_check.h"
#include "device/cpu_features.h"

namespace conclave::cli {
namespace {

struct Figures {
  Spread latency, first_token, prefill;     // seconds, seconds, tokens per second
  std::optional<Spread> per_token, decode;  // seconds, tokens per second; of answers longer than one token
  double step_bytes = 0.0, prompt_operations = 0.0;
};

Figures figures_of(const std::vector<BatchTimes>& runs, const BatchShape& shape, const ModelWork& work) {
  const double prompts = shape.prompts, prompt_tokens = prompts * shape.input_len;
  Figures f;
  f.latency = over(runs, [](const BatchTimes& t) { return t.whole; });
  f.first_token = over(runs, [](const BatchTimes& t) { return spread_of(t.first_token).median; });
  f.prefill = over(runs, [&](const BatchTimes& t) { return prompt_tokens / t.first_tokens; });
  if (std::ranges::all_of(runs, [](const BatchTimes& t) { return t.decode_steps > 0; })) {
    const auto step = [](const BatchTimes& t) { return t.decode / static_cast<double>(t.decode_steps); };
    f.per_token = over(runs, step);
    f.decode = over(runs, [&](const BatchTimes& t) { return prompts / step(t); });
  }
  f.step_bytes = work.step_bytes(prompts);
  f.prompt_operations = prompts * work.prompt_operations(shape.input_len);
  return f;
}

// Of the median run.
double read_speed(const Figures& f) { return f.step_bytes / f.per_token->median; }
double compute_speed(const Figures& f, const BatchShape& shape) {
  return f.prompt_operations * f.prefill.median / (static_cast<double>(shape.prompts) * shape.input_len);
}

Spread milliseconds(const Spread& s) { return {s.median * 1e3, s.min * 1e3, s.max * 1e3}; }

std::string text_of(const Figures& f, const BatchShape& shape, const Limits& limits) {
  std::string text = table_head();
  text += table_line("prefill, tokens/s", f.prefill);
  text += table_line("time to first token, ms", milliseconds(f.first_token));
  if (f.decode) {
    text += table_line("decode, tokens/s", *f.decode);
    text += table_line("time per output token, ms", milliseconds(*f.per_token));
  }
  text += table_line("latency of the batch, s", f.latency);
  text += limits.text();
  if (f.decode) {
    text += fmt::format("\nA decode step reads {:.1f} MB of weights{}: {}.\n", f.step_bytes / 1e6,
                        shape.prompts == 1 ? "" : " (when tokens choose experts evenly)", read_words(read_speed(f), limits));
    if (const std::int64_t cache = last_level_cache_bytes(); f.step_bytes < static_cast<double>(cache))
      text +=
          fmt::format("That need not come from memory: the last-level cache has {:.1f} MB.\n", static_cast<double>(cache) / 1e6);
  }
  text += fmt::format("Prefill computes {:.3f} GOP in linears a token: {}.\n",
                      f.prompt_operations / 1e9 / shape.prompts / shape.input_len, compute_words(compute_speed(f, shape), limits));
  return text;
}

Json json_of(const Figures& f, const BatchShape& shape, const Limits& limits) {
  Json out;
  out["latency_seconds"] = json_of(f.latency);
  out["ttft_seconds"] = json_of(f.first_token);
  out["prefill_tokens_per_second"] = json_of(f.prefill);
  out["prefill_compute"] = compute_json(f.prompt_operations, compute_speed(f, shape), limits);
  if (f.decode) {
    out["tpot_seconds"] = json_of(*f.per_token);
    out["decode_tokens_per_second"] = json_of(*f.decode);
    out["decode_read"] = read_json(f.step_bytes, read_speed(f), limits);
  }
  return out;
}

int latency(EngineBenchFlags flags) {
  const BatchShape shape = flags.shape;
  if (flags.engine.options.max_num_seqs == 0) flags.engine.options.max_num_seqs = shape.prompts;
  return bench_engine(std::move(flags), [&](const EngineRuns& runs) -> EngineFigures {
    const Figures f = figures_of(runs.times, shape, runs.work);
    return {text_of(f, shape, runs.limits), json_of(f, shape, runs.limits)};
  });
}

}  // namespace

void add_bench_latency(CLI::App& bench, Action& action) {
  auto flags = std::make_shared<EngineBenchFlags>();
  CLI::App* command = bench.add_subcommand("latency", "One batch at a time: time to the first token and per token");
  command->footer(
      "Prefill is from submission until all prompts of the batch have a first token; decode counts the steps in which each of "
      "them\n"
      "got one more. Prompts longer than --max-num-batched-tokens together are computed in chunks.\n"
      "Example: conclave bench latency /models/Qwen3-30B-A3B --load-format dummy --input-len 512 --output-len 64 --json");
  flags->shape = {.prompts = 1, .input_len = 128, .output_len = 64};
  add_engine_bench_flags(*command, *flags);
  command->add_option("--batch-size", flags->shape.prompts, "Prompts of the batch")
      ->transform(whole_number(1, 4096))
      ->capture_default_str();
  command->callback([flags, &action] { action = [flags] { return latency(*flags); }; });
}

}  // namespace conclave::cli
