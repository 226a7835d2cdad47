// conclave check: whether a model would load and how it would run, without loading it; for people and for scripts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <sstream>

#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "device/described_device.h"
#include "io/json.h"
#include "models/check.h"
#include "models/model_files.h"

namespace conclave::cli {
namespace {

struct CheckFlags {
  std::string model, load_format = "auto";
  CheckOptions options;
  bool json = false;
};

double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }
double billions(std::int64_t n) { return static_cast<double>(n) / 1e9; }

Json json_of(const std::vector<ParallelSize>& sizes, const auto& memory) {
  Json out = Json::array();
  for (const ParallelSize& size : sizes) {
    const ModelCheck::Memory rank = memory(size.ranks);
    out.push_back({{"ranks", size.ranks},
                   {"valid", size.problems.empty()},
                   {"problems", size.problems},
                   {"weight_bytes_per_rank", rank.weights},
                   {"kv_values_per_token_per_rank", rank.kv_values_per_token}});
  }
  return out;
}

Json json_of(const DeviceCheck& device) {
  Json decisions = Json::array();
  for (const auto& line : device.decisions)
    decisions.push_back({{"where", line.where}, {"what", line.what}, {"reasons", line.reasons}});
  return {{"device", device.device}, {"runs", device.refusal.empty()}, {"refusal", device.refusal}, {"decisions", decisions}};
}

Json json_of(const ModelCheck& check) {
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
          {"problems", check.problems},
          {"notes", check.notes},
          {"devices", devices},
          {"tensor_parallel", json_of(check.tensor_parallel, [&](int n) { return check.tensor_parallel_memory(n); })},
          {"expert_parallel", json_of(check.expert_parallel, [&](int n) { return check.expert_parallel_memory(n); })}};
}

void print_size(const ModelCheck& check) {
  const ModelConfig& c = check.description.config;
  fmt::print("{}: {} layers, {:.2f} B parameters, {:.2f} B active per token; quantisation: {}\n", c.architecture, c.layers,
             billions(check.size.parameters), billions(check.size.active), check.description.quant.describe());
  for (const auto& [kind, format] : check.size.formats)
    fmt::print("  {:<32} {:>8} tensors {:>16} parameters {:>10.3f} GB\n", kind, format.tensors, format.parameters,
               gigabytes(format.bytes));
  fmt::print("  KV cache: {} values per token, {:.1f} KB as bf16, {:.1f} KB as fp8\n", check.size.kv_values_per_token,
             static_cast<double>(check.size.kv_values_per_token) * 2 / 1e3,
             static_cast<double>(check.size.kv_values_per_token) / 1e3);
}

void print_device(const DeviceCheck& device) {
  fmt::print("\nOn {}:\n", device.device);
  if (!device.refusal.empty()) fmt::print("  cannot run: {}\n", device.refusal);
  for (const auto& line : device.decisions) {
    fmt::print("  {}: {}\n", line.where, line.what);
    std::istringstream reasons(line.reasons);
    for (std::string reason; std::getline(reasons, reason);) fmt::print("    {}\n", reason);
  }
}

void print_sizes(std::string_view what, const std::vector<ParallelSize>& sizes, const auto& memory) {
  if (sizes.empty()) return;
  fmt::print("\n{}:\n", what);
  for (const ParallelSize& size : sizes) {
    const ModelCheck::Memory rank = memory(size.ranks);
    if (size.problems.empty())
      fmt::print("  {:>3}: {:.3f} GB of weights and {:.1f} KB of bf16 cache per token on each rank\n", size.ranks,
                 gigabytes(rank.weights), static_cast<double>(rank.kv_values_per_token) * 2 / 1e3);
    else
      fmt::print("  {:>3}: no, {}\n", size.ranks, fmt::join(size.problems, "; "));
  }
}

void print(const ModelCheck& check, bool deep) {
  print_size(check);
  for (const std::string& note : check.notes) fmt::print("  note: {}\n", note);
  for (const DeviceCheck& device : check.devices) print_device(device);
  print_sizes("Tensor parallel (attention heads, experts' width)", check.tensor_parallel,
              [&](int n) { return check.tensor_parallel_memory(n); });
  print_sizes("Expert parallel (whole experts)", check.expert_parallel, [&](int n) { return check.expert_parallel_memory(n); });
  if (check.problems.empty())
    fmt::print("\nNo problems{}.\n", deep ? "" : " of names, types and shapes; --deep looks at the values of scales too");
  else
    fmt::print("\n{} problem{}:\n  - {}\n", check.problems.size(), check.problems.size() == 1 ? "" : "s",
               fmt::join(check.problems, "\n  - "));
}

int check(const CheckFlags& flags) {
  count_interrupts();
  const auto weights = open_weights(open_files(flags.model), flags.load_format, DummyValues::none);
  const ModelCheck found = check_model(*weights, flags.options);
  if (flags.json)
    fmt::print("{}\n", json_of(found).dump(2, ' ', false, Json::error_handler_t::replace));
  else
    print(found, flags.options.deep);
  return found.problems.empty() && found.devices.front().refusal.empty() ? kSuccess : kFailed;
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
  command->add_flag("--deep", flags->options.deep, "Read every scale and say which are not finite and positive");
  command
      ->add_option("--device", flags->options.devices,
                   fmt::format("Plan for this device too: {}", fmt::join(describable_devices(), ", ")))
      ->check(CLI::IsMember(std::vector<std::string>(describable_devices().begin(), describable_devices().end())));
  command->add_option("--moe-backend", flags->options.moe_backend, "Decide as if this were asked for")
      ->envname("CONCLAVE_MOE_BACKEND");
  add_load_format_flag(*command, flags->load_format);
  command->add_flag("--json", flags->json, "Everything as JSON on stdout");
  command->callback([flags, &action] { action = [flags] { return check(*flags); }; });
}

}  // namespace conclave::cli
