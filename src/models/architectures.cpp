#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/in_quotes.h"
#include "base/nearest.h"
#include "conclave/error.h"
#include "models/model.h"
// Generated from models.def: declares and lists the architectures.
#include "io/json.h"
#include "models/architectures.inc"

namespace conclave {
namespace {

constexpr std::string_view kConfig = "config.json";

const Architecture& architecture_of(const ModelConfig& config) {
  std::vector<std::string_view> names;
  for (const Architecture* a : all_architectures()) {
    for (std::string_view name : a->names) {
      if (name == config.architecture) return *a;
      names.push_back(name);
    }
  }
  throw Error(Errc::unsupported,
              fmt::format("{}: architecture {} is not one that this build can run{}; it can run: {}", kConfig,
                          in_quotes(config.architecture), did_you_mean(config.architecture, names), fmt::join(names, ", ")));
}

}  // namespace

std::span<const Architecture* const> all_architectures() { return kArchitectures; }

std::unique_ptr<Model> load_model(const Checkpoint& checkpoint, LoadContext& context) {
  ModelDescription description = describe_model(checkpoint.files());
  if (context.max_context > 0) description.config.rope.longest_context = context.max_context;
  return architecture_of(description.config).load(description.config, checkpoint, description.quant, context);
}

std::unique_ptr<Model> plan_model(const Checkpoint& checkpoint, LoadContext context) {
  context.plan_only = true;
  return load_model(checkpoint, context);
}

ModelDescription describe_model(const FileSet& files) {
  const JsonLimits limits{std::size_t{16} << 20, 64, true};
  const auto read = [&](std::string_view name) -> std::optional<Json> {
    const auto file = files.find(name);
    return file ? std::optional(parse_json(file->text(), name, limits)) : std::nullopt;
  };
  const std::optional<Json> config = read(kConfig);
  if (!config)
    throw Error(Errc::not_found, fmt::format("{}: there is no config.json, which says what the model is", files.location()));
  const std::optional<Json> generation = read("generation_config.json");
  const std::optional<Json> sidecar = read("hf_quant_config.json");
  return {parse_model_config(*config, generation ? &*generation : nullptr),
          QuantConfig::parse(*config, sidecar ? &*sidecar : nullptr)};
}

}  // namespace conclave
