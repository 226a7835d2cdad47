#include "cli/bench_engine.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/number_check.h"
#include "conclave/error.h"
#include "io/json.h"

namespace conclave::cli {

namespace {

void complete_options(EngineBenchFlags& flags) {
  EngineOptions& o = flags.engine.options;
  if (!flags.model.empty()) {
    if (!o.model.empty()) throw Error(Errc::bad_input, "the model is given twice, by --model and by the first word");
    o.model = flags.model;
  }
  o.skip_tokenizer_init = true;  // prompts are token ids
  if (o.max_model_len == 0) o.max_model_len = flags.shape.input_len + flags.shape.output_len;
  o.max_waiting = std::max(o.max_waiting, flags.shape.prompts);
}

std::vector<BatchTimes> run_batches(Engine& engine, const EngineBenchFlags& flags, Limits& limits) {
  ProgressBar bar("Measuring", ProgressBar::Unit::runs);
  std::vector<BatchTimes> runs;
  const std::int32_t all = flags.warmups + flags.iterations;
  for (std::int32_t i = 0; i < all; ++i) {
    bar.show(i, all);
    const bool counts = i >= flags.warmups;
    if (counts) limits.take();
    BatchTimes times = run_batch(engine, flags.shape, static_cast<std::uint64_t>(i));
    if (counts) runs.push_back(std::move(times));
  }
  return runs;
}

std::string engine_words(const ModelInfo& info, const EngineBenchFlags& flags) {
  std::string text = fmt::format("{} ({}, {} layers, {:.3f} GB of weights) on {} ({}, {} thread{})\n", info.location,
                                 info.architecture, info.layers, static_cast<double>(info.weight_bytes) / 1e9, info.device,
                                 info.operations, info.threads, info.threads == 1 ? "" : "s");
  for (const auto& d : info.decisions) text += fmt::format("  {}: {}\n", d.where, d.what);
  return text + fmt::format("{} prompt{} of {} tokens, {} tokens out; {} run{} after {} to warm up\n\n", flags.shape.prompts,
                            flags.shape.prompts == 1 ? "" : "s", flags.shape.input_len, flags.shape.output_len, flags.iterations,
                            flags.iterations == 1 ? "" : "s", flags.warmups);
}

Json engine_json(const ModelInfo& info, const EngineBenchFlags& flags) {
  Json decisions = Json::array();
  for (const auto& d : info.decisions) decisions.push_back({{"where", d.where}, {"what", d.what}});
  return {{"model", info.location},
          {"architecture", info.architecture},
          {"weight_bytes", info.weight_bytes},
          {"device", info.device},
          {"operations", info.operations},
          {"threads", info.threads},
          {"decisions", std::move(decisions)},
          {"load_seconds", info.load_seconds},
          {"num_prompts", flags.shape.prompts},
          {"input_len", flags.shape.input_len},
          {"output_len", flags.shape.output_len},
          {"num_iters", flags.iterations}};
}

}  // namespace

void add_engine_bench_flags(CLI::App& command, EngineBenchFlags& flags) {
  add_model_argument(command, flags.model);
  const auto add = [&](const char* name, std::int32_t& value, std::int64_t low, const char* words) {
    command.add_option(name, value, words)->transform(whole_number(low, 1 << 20))->capture_default_str();
  };
  add("--input-len", flags.shape.input_len, 1, "Tokens of each prompt, random ids");
  add("--output-len", flags.shape.output_len, 1, "Tokens of each answer; the first comes with the prompt");
  add("--num-iters", flags.iterations, 1, "Runs that count; five or more make a median worth having");
  add("--num-iters-warmup", flags.warmups, 0, "Runs before them that do not");
  command.add_flag("--json", flags.json, "Everything as JSON on stdout");
  add_engine_flags(command, flags.engine);
}

int bench_engine(EngineBenchFlags flags, const std::function<EngineFigures(const EngineRuns&)>& figures) {
  count_interrupts();
  complete_options(flags);
  const ModelWork work = work_of(open_files(flags.engine.options.model, flags.engine.options.load_format));
  const std::unique_ptr<Engine> engine = open_engine(flags.engine);
  const ModelInfo& info = engine->info();
  Limits limits(info.threads);
  std::vector<BatchTimes> times = run_batches(*engine, flags, limits);
  EngineFigures found = figures({std::move(times), limits, work, info});
  if (flags.json) {
    Json out = engine_json(info, flags);
    out.update(found.json);
    out["limits"] = limits.json();
    print_json(out);
  } else {
    fmt::print("{}", printable(engine_words(info, flags) + found.text));
  }
  return kSuccess;
}

Spread over(const std::vector<BatchTimes>& runs, const std::function<double(const BatchTimes&)>& value) {
  std::vector<double> values;
  for (const BatchTimes& run : runs) values.push_back(value(run));
  return spread_of(std::move(values));
}

}  // namespace conclave::cli
