// conclave inspect: what a model is and what would run it, without reading its weights.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <sstream>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "models/model.h"

namespace conclave::cli {
namespace {

struct InspectFlags {
  std::string model, moe_backend = "auto";
  int threads = 0;
  bool tensors = false;
};

void print_description(const ModelDescription& d, const Checkpoint& checkpoint) {
  const ModelConfig& c = d.config;
  fmt::print("{}\n  {}: {} layers, hidden {}, vocabulary {}, {} heads ({} for keys and values) of {}, context {}\n",
             checkpoint.files().location(), c.architecture, c.layers, c.hidden, c.vocab, c.heads, c.kv_heads, c.head_dim,
             c.max_positions);
  fmt::print("  {} tensors, {:.1f} MB; quantisation: {}\n", checkpoint.names().size(),
             static_cast<double>(checkpoint.total_bytes()) / 1e6, d.quant.describe());
  fmt::print("  end tokens: {}\n", fmt::join(c.eos_ids, ", "));
}

void print_types(const Checkpoint& checkpoint) {
  std::map<std::string, std::pair<int, std::size_t>> types;
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo info = *checkpoint.info(name);
    auto& [count, bytes] = types[std::string(info.dtype)];
    ++count;
    bytes += info.bytes;
  }
  for (const auto& [type, sum] : types)
    fmt::print("    {:<8} {:>6} tensors {:>12.3f} MB\n", type, sum.first, static_cast<double>(sum.second) / 1e6);
}

void print_tensors(const Checkpoint& checkpoint) {
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo info = *checkpoint.info(name);
    fmt::print("  {:<8} [{}] {}  ({})\n", info.dtype, fmt::join(info.shape, ", "), printable(name), info.file);
  }
}

void print_report(const ModelReport& report) {
  fmt::print("\nWhat runs it:\n");
  for (const auto& line : report.lines) {
    fmt::print("  {}: {}\n", line.where, line.what);
    std::istringstream reasons(line.reasons);
    for (std::string reason; std::getline(reasons, reason);) fmt::print("    {}\n", reason);
  }
  for (const std::string& note : report.notes) fmt::print("  note: {}\n", note);
}

int inspect(const InspectFlags& flags) {
  count_interrupts();
  const std::shared_ptr<const FileSet> files = open_files(flags.model);
  const auto checkpoint = Checkpoint::open(files);
  print_description(describe_model(*files), *checkpoint);
  print_types(*checkpoint);
  if (flags.tensors) print_tensors(*checkpoint);
  const auto device = open_cpu_device(flags.threads);
  const auto ops = make_cpu_ops(device->caps());
  print_report(plan_model(*checkpoint, {*device, *ops, flags.moe_backend}));
  return kSuccess;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command = app.add_subcommand("inspect", "Say what a model is, and which kernels would run it and why");
  command->footer(
      "Reads no weights, so it is quick on any model.\n"
      "Example: conclave inspect /models/Qwen3-30B-A3B --moe-backend latency");
  add_model_argument(*command, flags->model);
  add_compute_flags(*command, flags->threads, flags->moe_backend);
  command->add_flag("--tensors", flags->tensors, "List every tensor");
  command->callback([flags, &action] { action = [flags] { return inspect(*flags); }; });
}

}  // namespace conclave::cli
