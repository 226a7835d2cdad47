#include "models/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/problems.h"
#include "checkpoint/dummy_checkpoint.h"
#include "conclave/error.h"
#include "device/described_device.h"
#include "moe/select.h"
#include "ops/ops.h"

namespace conclave {
namespace {

std::shared_ptr<const FileSet> borrowed(const FileSet& files) { return {std::shared_ptr<void>(), &files}; }

// The reference can run every problem that means something, so what this says is about the model and not about a device.
std::optional<ModelReport> plan(const Checkpoint& weights, LoadContext context, std::vector<std::string>& problems) {
  std::vector<std::string> found;
  context.moe_backend = "reference";
  context.all_problems = &found;
  try {
    return plan_model(weights, context)->report();
  } catch (const Error& e) {
    if (e.code() == Errc::cancelled) throw;
    if (found.empty()) found = problems_of(e);
  }
  std::unordered_set<std::string> known(problems.begin(), problems.end());  // there may be one for every tensor
  for (std::string& problem : found)
    if (known.insert(problem).second) problems.push_back(std::move(problem));
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

void refuse_context(const ModelConfig& config, std::int32_t asked) {
  if (asked > config.max_positions)
    throw Error(Errc::bad_input, fmt::format("max_model_len is {}, and this model's context has {} tokens: ask for at most these",
                                             asked, config.max_positions));
}

}  // namespace

ModelCheck check_model(const FileSet& files, const Checkpoint* weights, const CheckOptions& options) {
  ModelCheck check;
  check.description = describe_model(files);
  refuse_context(check.description.config, options.step.context);
  const auto here = open_cpu_device();
  const auto ops = make_cpu_ops(here->caps());
  const LoadContext context{.device = *here,
                            .ops = *ops,
                            .moe_backend = options.moe_backend,
                            .max_tokens = options.step.tokens,
                            .max_context = options.step.context,
                            .progress = options.progress};
  const auto dummy = open_dummy_checkpoint(borrowed(files), DummyValues::none);
  const std::optional<ModelReport> asked = plan(*dummy, context, check.problems);
  if (asked) check.notes = asked->notes;
  if (weights != nullptr)
    if (const auto found = plan(*weights, context, check.problems)) check.notes = found->notes;
  if (!asked) return check;  // what cannot be described cannot be planned

  check.size = asked->size;
  if (check.size.weight_bytes > here->caps().memory_bytes)
    check.notes.push_back(fmt::format("the weights take {:.3f} GB and this process may use {:.3f} GB of memory",
                                      static_cast<double>(check.size.weight_bytes) / 1e9,
                                      static_cast<double>(here->caps().memory_bytes) / 1e9));
  check.devices.push_back(check_device(*asked, here->caps(), options.moe_backend));
  for (const std::string& name : options.devices)
    check.devices.push_back(check_device(*asked, describe_device(name)->caps(), options.moe_backend));
  check.tensor_parallel = tensor_parallel_sizes(files, *asked, context, options.step);
  check.expert_parallel = expert_parallel_sizes(*asked, check.tensor_parallel.front().memory);
  return check;
}

}  // namespace conclave
