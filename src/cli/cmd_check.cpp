// conclave check: whether a model would load and how it would run, without loading it; for people and for scripts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "base/problems.h"
#include "cli/check_text.h"
#include "cli/command.h"
#include "cli/decisions.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "device/described_device.h"
#include "engine/limits.h"
#include "io/json.h"
#include "models/check.h"
#include "models/model_files.h"

namespace conclave::cli {
namespace {

struct CheckFlags {
  std::string model, load_format = "auto";
  CheckOptions options;
  EngineOptions limits;
  bool deep = false, json = false;
};

double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }
double billions(std::int64_t n) { return static_cast<double>(n) / 1e9; }

Json json_of(const std::vector<ParallelSize>& sizes) {
  Json out = Json::array();
  for (const ParallelSize& size : sizes) {
    Json& one = out.emplace_back(Json{{"ranks", size.ranks}, {"problems", size.problems}});
    if (!size.problems.empty()) continue;
    one["weight_bytes_per_rank"] = size.memory.weight_bytes;
    one["kv_values_per_token_per_rank"] = size.memory.kv_values_per_token;
    if (size.memory.workspace_bytes) one["workspace_bytes_per_rank"] = *size.memory.workspace_bytes;
  }
  return out;
}

std::int32_t context_of(const ModelCheck& check, const StepSize& step) {
  return step.context > 0 ? step.context : check.description.config.max_positions;
}

Json json_of(const DeviceCheck& device) {
  return {{"device", device.device},
          {"runs", device.refusal.empty()},
          {"refusal", device.refusal},
          {"decisions", decisions_json(device.decisions)}};
}

Json json_of(const ModelCheck& check, const Findings& findings, const StepSize& step) {
  const ModelConfig& c = check.description.config;
  Json formats = Json::object();
  for (const auto& [kind, format] : check.size.formats)
    formats[kind] = {{"tensors", format.tensors}, {"parameters", format.parameters}, {"bytes", format.bytes}};
  Json devices = Json::array();
  for (const DeviceCheck& device : check.devices) devices.push_back(json_of(device));
  return {{"architecture", c.architecture},
          {"layers", c.layers},
          {"quantization", check.description.quant.describe()},
          {"parameters", check.size.parameters},
          {"active_parameters", check.size.active},
          {"weight_bytes", check.size.weight_bytes},
          {"kv_values_per_token", check.size.kv_values_per_token},
          {"formats", formats},
          {"problems", findings.problems},
          {"notes", findings.notes},
          {"devices", devices},
          {"step", {{"tokens", step.tokens}, {"logits_rows", step.logits_rows}, {"context", context_of(check, step)}}},
          {"tensor_parallel", json_of(check.tensor_parallel)},
          {"expert_parallel", json_of(check.expert_parallel)}};
}

using Text = std::back_insert_iterator<std::string>;

void write_size(Text out, const ModelCheck& check) {
  const ModelConfig& c = check.description.config;
  const auto kv = static_cast<double>(check.size.kv_values_per_token);
  fmt::format_to(out, "{}: {} layers, {:.2f} B parameters, {:.2f} B active per token; quantisation: {}\n", c.architecture, c.layers,
                 billions(check.size.parameters), billions(check.size.active), check.description.quant.describe());
  for (const auto& [kind, format] : check.size.formats)
    fmt::format_to(out, "  {:<32} {:>8} tensors {:>16} parameters {:>10.3f} GB\n", kind, format.tensors, format.parameters,
                   gigabytes(format.bytes));
  fmt::format_to(out, "  KV cache: {} values per token, {:.1f} KB as bf16, {:.1f} KB as fp8\n", check.size.kv_values_per_token,
                 kv * 2 / 1e3, kv / 1e3);
}

void write_device(Text out, const DeviceCheck& device) {
  fmt::format_to(out, "\nOn {}:\n", device.device);
  if (!device.refusal.empty()) fmt::format_to(out, "  cannot run: {}\n", device.refusal);
  fmt::format_to(out, "{}", decisions_text(device.decisions));
}

void write_sizes(Text out, std::string_view what, const std::vector<ParallelSize>& sizes) {
  if (sizes.empty()) return;
  fmt::format_to(out, "\n{}:\n", what);
  for (const ParallelSize& size : sizes) {
    const RankMemory& memory = size.memory;
    if (size.problems.empty())
      fmt::format_to(out, "  {:>3}: each rank holds {:.3f} GB of weights, {:.1f} KB of bf16 cache per token, and {}\n", size.ranks,
                     gigabytes(memory.weight_bytes), static_cast<double>(memory.kv_values_per_token) * 2 / 1e3,
                     memory.workspace_bytes ? fmt::format("{:.3f} GB of workspace", gigabytes(*memory.workspace_bytes))
                                            : "no workspace, as nothing here runs it");
    else
      fmt::format_to(out, "  {:>3}: no, {}\n", size.ranks, fmt::join(size.problems, "; "));
  }
}

void write_problems(Text out, const std::vector<std::string>& problems) {
  constexpr std::size_t kMostShown = 50;
  fmt::format_to(out, "\n{} problem{}:\n", problems.size(), problems.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < problems.size() && i < kMostShown; ++i) fmt::format_to(out, "  - {}\n", problems[i]);
  if (problems.size() > kMostShown) fmt::format_to(out, "  - and {} more; --json lists all\n", problems.size() - kMostShown);
}

void write_notes(Text out, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::format_to(out, "  note: {}\n", note);
}

std::string text_of(const ModelCheck& check, const Findings& findings, const StepSize& step, std::string_view looked_at) {
  std::string text;
  const Text out(text);
  if (!check.devices.empty()) write_size(out, check);
  write_notes(out, findings.notes);
  for (const DeviceCheck& device : check.devices) write_device(out, device);
  write_sizes(out, "Tensor parallel, by heads, the width of MLPs and experts, and the vocabulary", check.tensor_parallel);
  write_sizes(out, "Expert parallel, by whole experts", check.expert_parallel);
  if (!check.tensor_parallel.empty())
    fmt::format_to(out,
                   "\nWorkspace: what a step takes on this machine, of at most {} tokens, {} rows of logits and a context of {}\n"
                   "(--max-num-batched-tokens, --max-num-seqs, --max-model-len).\n",
                   step.tokens, step.logits_rows, context_of(check, step));
  if (findings.problems.empty())
    fmt::format_to(out, "\nNo problems{}.\n", looked_at);
  else
    write_problems(out, findings.problems);
  return text;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) { to.insert(to.end(), from.begin(), from.end()); }

// What `look` returns. An error of a file is a problem like others, and what does not need that file is looked at all the same.
template <class Look>
auto noting_errors(Findings& findings, const Look& look) -> decltype(look()) {
  try {
    return look();
  } catch (const Error& e) {
    if (e.code() == Errc::cancelled || e.code() == Errc::bad_input) throw;
    append(findings.problems, problems_of(e));
    return {};
  }
}

// What "no problems" is about.
std::string_view looked_at(const ModelCheck& found, const CheckFlags& flags) {
  if (flags.load_format == "dummy") return " in the configuration; no weights were looked at";
  if (flags.deep) return " of names, types, shapes and scales; other values are looked at when the model is loaded";
  return found.size.has_scales() ? " of names, types and shapes; --deep looks at the values of scales too"
                                 : " of names, types and shapes; values are looked at when the model is loaded";
}

StepSize step_of(const EngineOptions& asked) {
  const StepLimits limits = decide_step_limits(asked);
  return {limits.max_num_batched_tokens, limits.max_logits_rows, asked.max_model_len};
}

// Nothing where config.json cannot be read.
std::optional<ModelCheck> look(const CheckFlags& flags, const StepSize& step, Findings& findings) {
  const auto files = noting_errors(findings, [&] { return open_files(flags.model, flags.load_format); });
  if (!files) return std::nullopt;
  const auto weights = noting_errors(findings, [&]() -> std::unique_ptr<Checkpoint> {
    return flags.load_format == "dummy"
               ? nullptr
               : open_weights(files, flags.load_format, flags.deep ? DummyValues::random : DummyValues::none);
  });
  CheckOptions options = flags.options;
  options.step = step;
  ProgressBar bar("Checking");
  options.progress = load_progress(bar, "checking");
  std::optional<ModelCheck> found =
      noting_errors(findings, [&] { return std::optional(check_model(*files, weights.get(), options)); });
  if (found) {
    append(findings.problems, found->problems);
    append(findings.notes, found->notes);
  }
  check_text(*files, found ? &found->description.config : nullptr, findings);
  if (interrupts() > 0) throw Error(Errc::cancelled, "interrupted while checking the model");
  return found;
}

int check(const CheckFlags& flags) {
  count_interrupts();
  const StepSize step = step_of(flags.limits);
  Findings findings;
  const std::optional<ModelCheck> found = look(flags, step, findings);
  if (flags.json) {
    print_json(found ? json_of(*found, findings, step) : Json{{"problems", findings.problems}, {"notes", findings.notes}});
  } else {
    std::string text;
    if (found) {
      text = text_of(*found, findings, step, looked_at(*found, flags));
    } else {
      write_notes(Text(text), findings.notes);
      write_problems(Text(text), findings.problems);
    }
    fmt::print("{}", printable(text));
  }
  return findings.problems.empty() && found->devices.front().refusal.empty() ? kSuccess : kFailed;
}

// "--device sm_90 sm_80 MODEL": each --device takes one word.
std::string device_in_the_place_of_a_model(const std::string& word) {
  if (std::ranges::find(describable_devices(), word) == describable_devices().end()) return {};
  return fmt::format(
      "{0} is a device; for several write --device A,{0} or --device A --device {0} (a folder of that name is ./{0})", word);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app.add_subcommand("check", "Say what is wrong with a model, how large it is and where it could run");
  command->footer(
      "Reads headers only (with --deep the scales as well) and lists every problem in one run. Exit status: 0 when nothing is "
      "wrong and\n"
      "this machine can run it, else 1.\n"
      "Example: conclave check /models/DeepSeek-R1 --device sm_90 --device avx512 --json");
  add_model_argument(*command, flags->model);
  command->get_option("model")->check(CLI::Validator(device_in_the_place_of_a_model, "", "model"));
  CLI::Option* deep = command->add_flag("--deep", flags->deep, "Read every scale and say which are not finite and positive");
  command
      ->add_option(
          "--device", flags->options.devices,
          fmt::format("Plan for this device too, or these with commas between: {}", fmt::join(describable_devices(), ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(describable_devices().begin(), describable_devices().end())))
      ->allow_extra_args(false);  // the word after it is the model
  add_backend_flag(*command, flags->options.moe_backend);
  add_load_format_flag(*command, flags->load_format)->excludes(deep);
  add_limit_flags(*command, flags->limits);
  command->add_flag("--json", flags->json, "Everything as JSON on stdout");
  command->callback([flags, &action] { action = [flags] { return check(*flags); }; });
}

}  // namespace conclave::cli
