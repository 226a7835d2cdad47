// conclave inspect: what a model is and what would run it, without reading its weights.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/decisions.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "models/model.h"
#include "models/model_files.h"

namespace conclave::cli {
namespace {

struct InspectFlags {
  std::string model, moe_backend = "auto", load_format = "auto";
  int threads = 0;
  bool tensors = false;
};

std::string heads_of(const ModelConfig& c, const ModelSize& size) {
  if (size.latent_kv) return fmt::format("{} heads that share one latent vector for keys and values", c.heads);
  return fmt::format("{} heads ({} for keys and values) of {}", c.heads, c.kv_heads, c.head_dim);
}

void print_description(const ModelDescription& d, const ModelSize& size, const FileSet& files) {
  const ModelConfig& c = d.config;
  fmt::print("{}\n  {}: {} layers, hidden {}, vocabulary {}, {}, context {}\n", files.location(), c.architecture, c.layers,
             c.hidden, c.vocab, heads_of(c, size), c.max_positions);
  fmt::print("  quantisation: {}\n  end tokens: {}\n", d.quant.describe(), fmt::join(c.eos_ids, ", "));
}

void print_types(const Checkpoint& checkpoint) {
  fmt::print("  {} tensors, {:.1f} MB\n", checkpoint.names().size(), static_cast<double>(checkpoint.total_bytes()) / 1e6);
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

void print_tensors(const Checkpoint& checkpoint, bool each) {
  print_types(checkpoint);
  if (!each) return;
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo info = *checkpoint.info(name);
    fmt::print("  {:<8} [{}] {}  ({})\n", info.dtype, fmt::join(info.shape, ", "), printable(name), info.file);
  }
}

void print_size(const ModelSize& size) {
  const auto billions = [](std::int64_t n) { return static_cast<double>(n) / 1e9; };
  fmt::print("  {:.2f} billion parameters, {:.2f} active per token; KV cache: {} bytes per token in bf16\n",
             billions(size.parameters), billions(size.active), 2 * size.kv_values_per_token);
}

void print_report(const ModelReport& report) {
  fmt::print("\nWhat runs it:\n");
  fmt::print("{}", printable(decisions_text(report.lines)));
  for (const std::string& note : report.notes) fmt::print("  note: {}\n", printable(note));
}

int inspect(const InspectFlags& flags) {
  count_interrupts();
  const std::shared_ptr<const FileSet> files = open_files(flags.model, flags.load_format);
  const auto checkpoint = open_weights(files, flags.load_format, DummyValues::none);
  const auto device = open_cpu_device(flags.threads);
  const auto ops = make_cpu_ops(device->caps());
  const ModelReport report = plan_model(*checkpoint, {*device, *ops, flags.moe_backend})->report();
  print_description(describe_model(*files), report.size, *files);
  print_tensors(*checkpoint, flags.tensors);
  print_size(report.size);
  print_report(report);
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
  add_load_format_flag(*command, flags->load_format);
  add_compute_flags(*command, flags->threads, flags->moe_backend);
  command->add_flag("--tensors", flags->tensors, "List every tensor");
  command->callback([flags, &action] { action = [flags] { return inspect(*flags); }; });
}

}  // namespace conclave::cli
