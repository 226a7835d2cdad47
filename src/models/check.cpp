#include "models/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "checkpoint/dummy_checkpoint.h"
#include "checkpoint/headers_only.h"
#include "conclave/error.h"
#include "device/described_device.h"
#include "moe/select.h"
#include "ops/ops.h"

namespace conclave {
namespace {

std::shared_ptr<const FileSet> borrowed(const FileSet& files) { return {std::shared_ptr<void>(), &files}; }

// The reference can run every problem that means something, so what this says is about the model and not about a device.
std::optional<ModelReport> plan(const Checkpoint& weights, Device& device, std::vector<std::string>& problems) {
  std::vector<std::string> found;
  const auto ops = make_reference_ops();  // a plan runs nothing
  try {
    return plan_model(weights, {.device = device, .ops = *ops, .moe_backend = "reference", .all_problems = &found});
  } catch (const Error& e) {
    if (e.code() == Errc::cancelled) throw;
    if (found.empty()) found.push_back(e.what());
  }
  for (std::string& problem : found)
    if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(std::move(problem));
  return std::nullopt;
}

DeviceCheck check_device(const ModelReport& asked, const DeviceCaps& caps, const std::string& backend) {
  DeviceCheck out{caps.name, {}, ""};
  if (const Support can = has_ops(caps); !can) {
    out.refusal = can.reasons().front().text;
    return out;
  }
  out.decisions.push_back({"attention and dense layers", std::string(make_cpu_ops(caps)->name()), ""});
  try {
    for (const ModelReport::Experts& experts : asked.experts) {
      const moe::Selection selection = moe::select_backend(experts.problem, caps, moe::builtin_backends(), backend);
      const moe::MoeBackend& chosen = selection.chosen_for(experts.problem, caps);
      out.decisions.push_back({experts.where, std::string(chosen.name()), selection.explain()});
    }
  } catch (const Error& e) {
    if (e.code() == Errc::bad_input) throw;  // a backend that is none
    out.refusal = e.what();
  }
  return out;
}

}  // namespace

ModelCheck check_model(const Checkpoint& weights, const CheckOptions& options) {
  ModelCheck check;
  check.description = describe_model(weights.files());
  const auto here = open_cpu_device();
  const auto dummy = open_dummy_checkpoint(borrowed(weights.files()), DummyValues::none);
  const std::optional<ModelReport> asked = plan(*dummy, *here, check.problems);
  const auto headers = headers_only(weights);
  if (const auto found = plan(options.deep ? weights : *headers, *here, check.problems)) check.notes = found->notes;
  if (!asked) return check;  // what cannot be described cannot be planned

  check.size = asked->size;
  if (check.size.weight_bytes > here->caps().memory_bytes)
    check.notes.push_back(fmt::format("the weights take {:.3f} GB and this process may use {:.3f} GB of memory",
                                      static_cast<double>(check.size.weight_bytes) / 1e9,
                                      static_cast<double>(here->caps().memory_bytes) / 1e9));
  check.devices.push_back(check_device(*asked, here->caps(), options.moe_backend));
  for (const std::string& name : options.devices)
    check.devices.push_back(check_device(*asked, describe_device(name)->caps(), options.moe_backend));
  check.tensor_parallel = tensor_parallel_sizes(weights.files(), *asked);
  check.expert_parallel = expert_parallel_sizes(*asked);
  return check;
}

}  // namespace conclave
