// conclave doctor: what this machine and this build can do.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "conclave/version.h"
#include "device/cpu_features.h"
#include "device/device.h"
#include "device/memory.h"
#include "kernels/cpu/dispatch.h"
#include "models/model.h"
#include "moe/backend.h"

namespace conclave::cli {
namespace {

int doctor() {
  const auto device = open_cpu_device();
  const DeviceCaps& caps = device->caps();
  fmt::print("conclave {}\n", version());
  fmt::print("CPU:     {}, kernels at level {}\n", caps.name, to_string(caps.isa));
  fmt::print("threads: {} (CPUs allowed: {})\n", caps.threads, fmt::join(allowed_cpus(), ","));
  fmt::print("memory:  {:.1f} GB usable now\n", static_cast<double>(usable_memory()) / 1e9);
  const auto cards = find_cuda_devices();
  if (cards.empty()) fmt::print("GPUs:    none\n");
  for (const DeviceCaps& card : cards)
    fmt::print("GPU:     {}, compute capability {}.{}, {:.1f} GB\n", card.name, card.compute_capability / 10,
               card.compute_capability % 10, static_cast<double>(card.memory_bytes) / 1e9);
  fmt::print("kernels:\n");
  for (const auto& [kernel, isa] : kernel_origins(caps.isa)) fmt::print("  {:<12} {}\n", kernel, isa);
  fmt::print("expert backends:\n");
  for (const moe::MoeBackend* backend : moe::builtin_backends()) fmt::print("  {}\n", backend->name());
  fmt::print("architectures:\n");
  for (const Architecture* a : all_architectures()) fmt::print("  {}\n", fmt::join(a->names, ", "));
  return kSuccess;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("doctor", "Say what this machine and this build can do");
  command->callback([&action] { action = doctor; });
}

}  // namespace conclave::cli
