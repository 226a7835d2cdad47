#include "models/check.h"

#include <algorithm>

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

ModelReport plan(const Checkpoint& weights, Device& device, const CheckOptions& options, std::vector<std::string>* problems) {
  const auto ops = make_reference_ops();
  return plan_model(weights, {.device = device, .ops = *ops, .moe_backend = options.moe_backend, .all_problems = problems});
}

// What the files lack or have too much of. Which kernels run is asked separately, device by device.
void check_files(const Checkpoint& weights, Device& device, const CheckOptions& options, ModelCheck& check) {
  CheckOptions any = options;
  any.moe_backend = "auto";
  try {
    check.notes = plan(weights, device, any, &check.problems).notes;
  } catch (const Error& e) {
    if (check.problems.empty()) check.problems.push_back(e.what());
  }
}

DeviceCheck check_device(const Checkpoint& dummy, Device& device, const CheckOptions& options, ModelReport& report) {
  DeviceCheck out{device.caps().name, {}, ""};
  try {
    report = plan(dummy, device, options, nullptr);
    std::ranges::copy_if(report.lines, std::back_inserter(out.decisions), [](const auto& line) { return !line.reasons.empty(); });
  } catch (const Error& e) {
    out.refusal = e.what();
  }
  return out;
}

}  // namespace

ModelCheck check_model(const Checkpoint& weights, const CheckOptions& options) {
  ModelCheck check;
  check.description = describe_model(weights.files());
  const auto here = open_cpu_device();
  // The reference runs every problem that means something, so this plan tells sizes even where nothing else can.
  const auto dummy = open_dummy_checkpoint(borrowed(weights.files()), DummyValues::none);
  CheckOptions reference = options;
  reference.moe_backend = "reference";
  const ModelReport asked = plan(*dummy, *here, reference, nullptr);
  check.size = asked.size;
  if (options.deep)
    check_files(weights, *here, options, check);
  else
    check_files(HeadersOnly(weights), *here, options, check);

  ModelReport report;
  check.devices.push_back(check_device(*dummy, *here, options, report));
  for (const std::string& name : options.devices) {
    const auto device = describe_device(name);
    check.devices.push_back(check_device(*dummy, *device, options, report));
  }
  check.tensor_parallel = tensor_parallel_sizes(check.description.config, asked.size.latent_kv, asked.experts, options.most_ranks);
  check.expert_parallel = expert_parallel_sizes(asked.experts, options.most_ranks);
  return check;
}

namespace {

std::int64_t bytes_of(const ModelSize& size, std::string_view kind) {
  std::int64_t bytes = 0;
  for (const auto& [name, format] : size.formats)
    if (name.starts_with(kind)) bytes += format.bytes;
  return bytes;
}

std::int64_t part(std::int64_t whole, std::int32_t ranks) { return (whole + ranks - 1) / ranks; }

}  // namespace

ModelCheck::Memory ModelCheck::tensor_parallel_memory(std::int32_t ranks) const {
  const std::int64_t vectors = bytes_of(size, "norms");
  const std::int32_t kv_parts = size.latent_kv ? 1 : std::min(ranks, description.config.kv_heads);
  return {vectors + part(size.weight_bytes - vectors, ranks), part(size.kv_values_per_token, kv_parts)};
}

ModelCheck::Memory ModelCheck::expert_parallel_memory(std::int32_t ranks) const {
  const std::int64_t experts = bytes_of(size, "experts");
  return {size.weight_bytes - experts + part(experts, ranks), size.kv_values_per_token};
}

}  // namespace conclave
