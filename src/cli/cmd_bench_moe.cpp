// conclave bench moe: a layer of experts alone, by shape or as a model has it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/bench_experts.h"
#include "cli/bench_figures.h"
#include "cli/cmd_bench.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/number_check.h"
#include "conclave/error.h"
#include "io/json.h"
#include "models/model_files.h"

namespace conclave::cli {
namespace {

struct MoeFlags {
  std::string model, shape, format, backend = "auto", tokens = "1,8,32,512", routing = "uniform";
  int threads = 0;
  std::int32_t iterations = 5;
  bool no_verify = false, json = false;
};

struct Row {
  std::int64_t tokens;
  Spread seconds;
  BenchedExperts::Times call;  // all but its time
  double read_speed() const { return call.active_bytes / seconds.median; }
  double compute_speed() const { return call.operations / seconds.median; }
};

std::vector<std::int64_t> tokens_of(const MoeFlags& flags) {
  std::vector<std::int64_t> out;
  for (const std::int32_t n : parse_ids(flags.tokens)) {
    if (n < 1 || n > 65536) throw Error(Errc::bad_input, fmt::format("--tokens: expected numbers from 1 to 65536, found {}", n));
    out.push_back(n);
  }
  return out;
}

moe::MoeProblem of_model(const MoeFlags& flags) {
  const ModelReport report = plan_configuration(open_files(flags.model, "dummy"));
  if (report.experts.empty()) throw Error(Errc::bad_input, "the model has no experts; --shape takes one of those that do");
  return report.experts.front().problem;
}

moe::MoeProblem problem_of(const MoeFlags& flags) {
  if (!flags.shape.empty() && !flags.model.empty())
    throw Error(Errc::bad_input, "the layer is given twice, by --shape and by the model");
  moe::MoeProblem problem;
  if (flags.shape.empty()) {
    problem = of_model(flags);
    if (!flags.format.empty()) problem.weights = expert_format(flags.format);
  } else {
    const auto* shape = std::ranges::find(kExpertShapes, flags.shape, &ExpertShape::name);
    problem = problem_of(*shape, expert_format(flags.format.empty() ? "nvfp4" : flags.format));
  }
  const auto tokens = tokens_of(flags);
  problem.max_tokens = static_cast<std::int32_t>(*std::ranges::max_element(tokens));
  return problem;
}

std::vector<Row> measure(BenchedExperts& experts, const MoeFlags& flags, Limits& limits) {
  const auto sizes = tokens_of(flags);
  ProgressBar bar("Measuring", ProgressBar::Unit::runs);
  const auto all = static_cast<std::int64_t>(sizes.size()) * flags.iterations;
  std::vector<Row> rows;
  for (const std::int64_t tokens : sizes) {
    Row row{tokens, {}, experts.round(tokens)};  // to warm up
    std::vector<double> seconds;
    for (std::int32_t i = 0; i < flags.iterations; ++i) {
      bar.show(static_cast<std::int64_t>(rows.size()) * flags.iterations + i, all);
      limits.take();
      seconds.push_back(experts.round(tokens).seconds);
    }
    row.seconds = spread_of(std::move(seconds));
    rows.push_back(row);
  }
  return rows;
}

std::string text_of(const std::vector<Row>& rows, const Limits& limits) {
  std::string text = fmt::format("{:>6} {:>9} {:>9} {:>11} {:>11} {:>11} {:>7} {:>8} {:>9} {:>8} {:>8}\n", "tokens", "experts",
                                 "MB", "us, median", "min", "max", "GB/s", "of read", "GOP/s", "of f32", "of int8");
  for (const Row& r : rows) {
    text +=
        fmt::format("{:>6} {:>9.1f} {:>9.1f} {:>11.1f} {:>11.1f} {:>11.1f} {:>7.1f} {:>6.0f} % {:>9.1f} {:>6.0f} % {:>6.0f} %\n",
                    r.tokens, r.call.active_experts, r.call.active_bytes / 1e6, r.seconds.median * 1e6, r.seconds.min * 1e6,
                    r.seconds.max * 1e6, r.read_speed() / 1e9, 100 * limits.share_of_read(r.read_speed()), r.compute_speed() / 1e9,
                    100 * r.compute_speed() / limits.floats().median, 100 * r.compute_speed() / limits.bytes().median);
  }
  return text + "\n" + table_head() + limits.text();
}

Json json_of(const std::vector<Row>& rows, const Limits& limits) {
  Json out = Json::array();
  for (const Row& r : rows)
    out.push_back({{"tokens", r.tokens},
                   {"active_experts", r.call.active_experts},
                   {"seconds", json_of(r.seconds)},
                   {"read", read_json(r.call.active_bytes, r.read_speed(), limits)},
                   {"compute", compute_json(r.call.operations, r.compute_speed(), limits)}});
  return out;
}

int bench_moe(const MoeFlags& flags) {
  count_interrupts();
  const moe::MoeProblem problem = problem_of(flags);
  const auto device = open_cpu_device(flags.threads);
  const Routing routing = flags.routing == "skewed" ? Routing::skewed : Routing::uniform;
  BenchedExperts experts(problem, routing, *device, flags.backend, !flags.no_verify);
  Limits limits(device->caps().threads);
  const std::vector<Row> rows = measure(experts, flags, limits);
  const std::string backend(experts.built().selection.chosen->name());
  const std::string kernel = experts.built().kernel->describe();
  if (flags.json) {
    print_json({{"problem", to_string(problem)},
                {"format", to_string(problem.weights)},
                {"backend", backend},
                {"kernel", kernel},
                {"routing", flags.routing},
                {"device", device->caps().name},
                {"threads", device->caps().threads},
                {"copies", experts.copies()},
                {"layer_bytes", experts.layer_bytes()},
                {"num_iters", flags.iterations},
                {"calls", json_of(rows, limits)},
                {"limits", limits.json()}});
    return kSuccess;
  }
  fmt::print("{}\n{}, {} on {} with {} thread{}\n{} routing, {} cop{} of a layer of {:.1f} MB, {} runs\n\n", to_string(problem),
             backend, kernel, device->caps().name, device->caps().threads, device->caps().threads == 1 ? "" : "s", flags.routing,
             experts.copies(), experts.copies() == 1 ? "y" : "ies", experts.layer_bytes() / 1e6, flags.iterations);
  fmt::print("{}", text_of(rows, limits));
  return kSuccess;
}

}  // namespace

void add_bench_moe(CLI::App& bench, Action& action) {
  auto flags = std::make_shared<MoeFlags>();
  CLI::App* command = bench.add_subcommand("moe", "One layer of experts alone, with random weights");
  command->footer(
      "A call is routing, the experts and their weighted sum. Every call has another routing, and there are copies of the layer "
      "until\n"
      "its weights exceed the last-level cache four times, so weights come from memory. 'experts' and 'MB' are the distinct "
      "experts\n"
      "that a call touches and their weights as published. skewed: expert i is wanted in proportion to 1 / (1 + i).\n"
      "Examples:\n"
      "  conclave bench moe\n"
      "  conclave bench moe --shape gpt-oss-120b --format mxfp4 --tokens 1,4,64\n"
      "  conclave bench moe /models/Qwen3-30B-A3B --moe-backend cpu_pipeline --threads 1 --json");
  std::vector<std::string> shapes;
  for (const ExpertShape& s : kExpertShapes) shapes.emplace_back(s.name);
  add_model_argument(*command, flags->model);
  command->add_option("--shape", flags->shape, "The layer of this model instead")->check(CLI::IsMember(shapes));
  command->add_option("--format", flags->format, "Of the weights; left out: the model's, or nvfp4 for a --shape")
      ->check(CLI::IsMember(expert_formats()));
  command->add_option("--tokens", flags->tokens, "Sizes of a call, with commas between")->check(some_text())->capture_default_str();
  command->add_option("--routing", flags->routing, "How tokens choose experts")
      ->check(CLI::IsMember({"uniform", "skewed"}))
      ->capture_default_str();
  command->add_option("--num-iters", flags->iterations, "Runs that count for each size")
      ->transform(whole_number(1, 1 << 20))
      ->capture_default_str();
  add_compute_flags(*command, flags->threads, flags->backend);
  command->add_flag("--no-verify", flags->no_verify, "Do not compare the kernel with the reference first");
  command->add_flag("--json", flags->json, "Everything as JSON on stdout");
  command->callback([flags, &action] { action = [flags] { return bench_moe(*flags); }; });
}

}  // namespace conclave::cli
