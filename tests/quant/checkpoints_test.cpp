// Whole published folders: what the configuration announces for every linear is what the tensors are, and no tensor of a quantised
// linear is left over.
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "io/json.h"
#include "quant/codec.h"
#include "quant/config.h"
#include "quant/elements.h"
#include "quant/kv_scales.h"

namespace conclave {
namespace {

// [out, in] of the linear, from its tensors.
std::pair<std::int64_t, std::int64_t> extents(const Checkpoint& checkpoint, const std::string& module, const TensorInfo& weight) {
  if (const auto shape = checkpoint.find(module + ".weight_shape"))
    return {load<std::int64_t>(shape->data, 0), load<std::int64_t>(shape->data, 1)};
  return {weight.shape[0], weight.dtype == "U8" ? 2 * weight.shape[1] : weight.shape[1]};
}

int bind_everything(const std::filesystem::path& folder) {
  const auto files = open_folder(folder);
  const auto read = [&](const char* name) -> std::optional<Json> {
    const auto file = files->find(name);
    return file ? std::optional(parse_json(file->text(), name, {std::size_t{1} << 20, 64, true})) : std::nullopt;
  };
  const auto sidecar = read("hf_quant_config.json");
  const QuantConfig quant = QuantConfig::parse(*read("config.json"), sidecar ? &*sidecar : nullptr);
  const auto checkpoint = Checkpoint::open(open_folder(folder));
  std::vector<std::string> problems;
  int bound = 0;
  for (const std::string& name : checkpoint->names()) {
    const std::size_t dot = name.rfind('.');
    const auto info = checkpoint->info(name);
    if (dot == std::string::npos || (name.substr(dot) != ".weight" && name.substr(dot) != ".weight_packed") ||
        info->shape.size() != 2)
      continue;
    const std::string module = name.substr(0, dot);
    const QuantScheme scheme = quant.scheme_of(module).weights;
    const auto [rows, cols] = extents(*checkpoint, module, *info);
    const QuantMatrix matrix = codec_for(scheme).bind(*checkpoint, module, scheme, rows, cols, problems);
    if (!matrix) continue;  // its problem is noted
    ++bound;
    std::vector<float> row(static_cast<std::size_t>(cols));
    codec_for(matrix.scheme).decode_row(matrix, rows - 1, row);
    for (float v : row) EXPECT_TRUE(v > -1e4f && v < 1e4f) << module;
  }
  EXPECT_TRUE(problems.empty()) << folder << ": " << problems.size() << " problems: " << problems[0];
  for (std::string_view name : checkpoint->unused())
    EXPECT_TRUE(name.find("scale") == std::string_view::npos || name.find(".experts.gate_up_proj_") != std::string_view::npos ||
                name.find(".experts.down_proj_") != std::string_view::npos || names_kv_scale(name))
        << folder << ": " << name << " was not asked for";
  return bound;
}

TEST(Checkpoints, OfThisTree) {
  const auto root = std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/fixtures";
  for (const char* name : {"qwen3_moe-bf16-sharded", "qwen3_moe-fp8block-ragged", "qwen3_moe-nvfp4-kvfp8"})
    EXPECT_GE(bind_everything(root / name), 80) << name;
}

TEST(Checkpoints, OfEveryArchitecture) {
  const auto root = std::filesystem::path(CONCLAVE_SOURCE_DIR) / "../shared/fixtures";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "../shared/fixtures is not there: 23 more checkpoints are not bound";
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    EXPECT_GE(bind_everything(entry.path()), 10) << entry.path();
    ++folders;
  }
  EXPECT_EQ(folders, 23);
}

}  // namespace
}  // namespace conclave
