#include "models/check.h"

#include <algorithm>
#include <optional>

#include "checkpoint/dummy_checkpoint.h"
#include "conclave/error.h"
#include "device/described_device.h"
#include "ops/ops.h"

namespace conclave {
namespace {

// The files as the checkpoint lists them, without their values: nothing but headers is read.
class HeadersOnly final : public Checkpoint {
 public:
  explicit HeadersOnly(const Checkpoint& all) : all_(all) {}
  std::optional<ConstTensorView> find(std::string_view name) const override { return all_.find(name); }
  std::optional<ConstTensorView> provide(std::string_view name, const TensorNeed& need) const override {
    return all_.provide(name, need);
  }
  bool has_values() const override { return false; }
  std::span<const std::string> names() const override { return all_.names(); }
  std::optional<TensorInfo> info(std::string_view name) const override { return all_.info(name); }
  std::vector<std::string_view> unused() const override { return all_.unused(); }
  std::uint64_t total_bytes() const override { return all_.total_bytes(); }
  const FileSet& files() const override { return all_.files(); }

 private:
  const Checkpoint& all_;
};

std::shared_ptr<const FileSet> borrowed(const FileSet& files) { return {std::shared_ptr<void>(), &files}; }

ModelReport plan(const Checkpoint& weights, Device& device, const std::string& backend, std::vector<std::string>* problems) {
  const auto ops = make_reference_ops();  // a plan runs nothing
  return plan_model(weights, {.device = device, .ops = *ops, .moe_backend = backend, .all_problems = problems});
}

// The reference can run every problem that means something, so what this says is about the model and not about a device.
std::optional<ModelReport> plan_by_reference(const Checkpoint& weights, Device& device, std::vector<std::string>& problems) {
  std::vector<std::string> found;
  try {
    return plan(weights, device, "reference", &found);
  } catch (const Error& e) {
    if (e.code() == Errc::cancelled) throw;
    if (found.empty()) found.push_back(e.what());
  }
  for (std::string& problem : found)
    if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(std::move(problem));
  return std::nullopt;
}

DeviceCheck check_device(const Checkpoint& dummy, Device& device, const std::string& backend) {
  DeviceCheck out{device.caps().name, {}, ""};
  if (const Support can = has_ops(device.caps()); !can) {
    out.refusal = can.reasons().front().text;
    return out;
  }
  out.decisions.push_back({"attention and dense layers", std::string(make_cpu_ops(device.caps())->name()), ""});
  try {
    for (auto& line : plan(dummy, device, backend, nullptr).lines)
      if (!line.reasons.empty()) out.decisions.push_back(std::move(line));
  } catch (const Error& e) {
    out.refusal = e.what();
  }
  return out;
}

std::int64_t part(std::int64_t whole, std::int32_t ranks) { return (whole + ranks - 1) / ranks; }

}  // namespace

ModelCheck check_model(const Checkpoint& weights, const CheckOptions& options) {
  ModelCheck check;
  check.description = describe_model(weights.files());
  const auto here = open_cpu_device();
  const auto dummy = open_dummy_checkpoint(borrowed(weights.files()), DummyValues::none);
  const std::optional<ModelReport> asked = plan_by_reference(*dummy, *here, check.problems);
  const HeadersOnly headers(weights);
  if (const auto found = plan_by_reference(options.deep ? weights : static_cast<const Checkpoint&>(headers), *here, check.problems))
    check.notes = found->notes;
  if (!asked) return check;  // what cannot be described cannot be planned

  check.size = asked->size;
  check.devices.push_back(check_device(*dummy, *here, options.moe_backend));
  for (const std::string& name : options.devices)
    check.devices.push_back(check_device(*dummy, *describe_device(name), options.moe_backend));
  check.tensor_parallel = tensor_parallel_sizes(check.description.config, check.size.latent_kv, asked->experts);
  check.expert_parallel = expert_parallel_sizes(asked->experts);
  return check;
}

RankMemory tensor_parallel_memory(const ModelCheck& check, std::int32_t ranks) {
  const ModelSize& size = check.size;
  const std::int32_t kv_parts = size.latent_kv ? 1 : std::min(ranks, check.description.config.kv_heads);
  return {size.vector_bytes + part(size.weight_bytes - size.vector_bytes, ranks), part(size.kv_values_per_token, kv_parts)};
}

RankMemory expert_parallel_memory(const ModelCheck& check, std::int32_t ranks) {
  const ModelSize& size = check.size;
  return {size.weight_bytes - size.expert_bytes + part(size.expert_bytes, ranks), size.kv_values_per_token};
}

}  // namespace conclave
