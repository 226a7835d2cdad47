// conclave bench throughput: many prompts at once, as many running as the engine takes; vLLM's command of that name.
#include <fmt/format.h>

#include <memory>

#include "cli/bench_engine.h"
#include "cli/cmd_bench.h"
#include "cli/number_check.h"

namespace conclave::cli {
namespace {

struct Figures {
  Spread elapsed, requests, total_tokens, output_tokens;  // seconds, then per second
  double operations = 0.0;                                // of all prompts and answers
};

Figures figures_of(const std::vector<BatchTimes>& runs, const BatchShape& shape, const ModelWork& work) {
  const double prompts = shape.prompts;
  const auto per_second = [&](double each) { return over(runs, [&](const BatchTimes& t) { return prompts * each / t.whole; }); };
  Figures f;
  f.elapsed = over(runs, [](const BatchTimes& t) { return t.whole; });
  f.requests = per_second(1);
  f.total_tokens = per_second(shape.input_len + shape.output_len);
  f.output_tokens = per_second(shape.output_len);
  const double later = shape.output_len - 1;  // every token of the answer but the last is a row with logits
  f.operations = prompts * (work.prompt_operations(shape.input_len) + later * work.prompt_operations(1));
  return f;
}

std::string text_of(const Figures& f, const Limits& limits) {
  return table_head() + table_line("requests/s", f.requests) + table_line("tokens/s, prompts and answers", f.total_tokens) +
         table_line("output tokens/s", f.output_tokens) + table_line("elapsed, s", f.elapsed) + limits.text() +
         fmt::format("\nLinears compute {:.1f} GOP in all: {}.\n", f.operations / 1e9,
                     compute_words(f.operations / f.elapsed.median, limits));
}

Json json_of(const Figures& f, const ModelInfo& info, const Limits& limits) {
  return {{"max_num_seqs", info.max_num_seqs},
          {"elapsed_seconds", json_of(f.elapsed)},
          {"requests_per_second", json_of(f.requests)},
          {"tokens_per_second", json_of(f.total_tokens)},
          {"output_tokens_per_second", json_of(f.output_tokens)},
          {"compute", compute_json(f.operations, f.operations / f.elapsed.median, limits)}};
}

int throughput(const EngineBenchFlags& flags) {
  return bench_engine(flags, [&](const EngineRuns& runs) -> EngineFigures {
    const Figures f = figures_of(runs.times, flags.shape, runs.work);
    return {text_of(f, runs.limits), json_of(f, runs.info, runs.limits)};
  });
}

}  // namespace

void add_bench_throughput(CLI::App& bench, Action& action) {
  auto flags = std::make_shared<EngineBenchFlags>();
  CLI::App* command = bench.add_subcommand("throughput", "Many prompts at once: tokens per second of all together");
  command->footer(
      "All prompts are submitted at once; --max-num-seqs of them run at a time.\n"
      "Example: conclave bench throughput /models/gpt-oss-20b --num-prompts 64 --input-len 128 --output-len 64");
  flags->shape = {.prompts = 32, .input_len = 128, .output_len = 64};
  add_engine_bench_flags(*command, *flags);
  command->add_option("--num-prompts", flags->shape.prompts, "Prompts of a run")
      ->transform(whole_number(1, 1 << 20))
      ->capture_default_str();
  command->callback([flags, &action] { action = [flags] { return throughput(*flags); }; });
}

}  // namespace conclave::cli
