#include "tests/models/fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "io/json.h"

namespace conclave {

std::vector<std::filesystem::path> fixtures_under(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::is_directory(root)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (!std::filesystem::exists(entry.path() / "ref.safetensors")) continue;
    const auto config = open_folder(entry.path())->find("config.json");
    const std::string name = parse_json(config->text(), "config.json", {std::size_t{1} << 20, 64, true})["architectures"][0];
    const auto known = all_architectures();
    if (std::any_of(known.begin(), known.end(),
                    [&](const Architecture* a) { return std::find(a->names.begin(), a->names.end(), name) != a->names.end(); }))
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

References::References(const std::filesystem::path& file) : file_(std::make_unique<SafetensorsFile>(MappedFile::open(file))) {}
bool References::has(const std::string& name) const { return file_->find(name).has_value(); }

template <class T>
std::vector<T> References::values(const std::string& name) const {
  const ConstTensorView view = file_->find(name).value();
  std::vector<T> out(static_cast<std::size_t>(view.shape.elements()));
  std::memcpy(out.data(), view.as<T>(), out.size() * sizeof(T));
  return out;
}
std::vector<float> References::floats(const std::string& name) const { return values<float>(name); }
std::vector<std::int32_t> References::ints(const std::string& name) const { return values<std::int32_t>(name); }

LoadedModel load_fixture(std::shared_ptr<const FileSet> files, Path path, std::int32_t max_context) {
  LoadedModel out;
  out.checkpoint = Checkpoint::open(std::move(files));
  out.device = open_cpu_device();
  out.ops = path == Path::reference ? make_reference_ops() : make_cpu_ops(out.device->caps());
  LoadContext context{*out.device, *out.ops, path == Path::reference ? "reference" : "auto"};
  context.max_context = max_context;
  out.model = load_model(*out.checkpoint, context);
  return out;
}

LoadedModel::Run LoadedModel::run(const std::vector<std::int32_t>& ids, int new_tokens, DType kv, int chunk) const {
  const auto vocab = static_cast<std::size_t>(model->config().vocab);
  SingleSequence sequence(*model, *device, *ops, static_cast<std::int32_t>(ids.size()) + new_tokens + 1, chunk, kv);
  Run out;
  std::vector<float> last;
  const auto append = [&](std::span<const std::int32_t> tokens) {
    const auto logits = sequence.append(tokens);
    last.assign(logits.end() - static_cast<std::ptrdiff_t>(vocab), logits.end());
    return logits;
  };
  for (std::size_t at = 0; at < ids.size(); at += static_cast<std::size_t>(chunk)) {
    const auto logits = append(std::span(ids).subspan(at, std::min(static_cast<std::size_t>(chunk), ids.size() - at)));
    out.logits.insert(out.logits.end(), logits.begin(), logits.end());
  }
  for (int i = 0; i < new_tokens; ++i) {
    const Argmax best = argmax(last);
    out.greedy.push_back(best.id);
    out.margins.push_back(best.margin);
    append({&out.greedy.back(), 1});
  }
  return out;
}

Difference compare(std::span<const float> a, std::span<const float> expected, std::size_t vocab) {
  Difference out;
  double worst = 0, largest = 0, square = 0, norm = 0;
  for (std::size_t row = 0; row < expected.size(); row += vocab) {
    double dot = 0, aa = 0, bb = 0;
    for (std::size_t i = row; i < row + vocab; ++i) {
      const double x = a[i], y = expected[i];
      worst = std::max(worst, std::isfinite(x) ? std::abs(x - y) : HUGE_VAL);
      largest = std::max(largest, std::abs(y));
      square += (x - y) * (x - y);
      norm += y * y;
      dot += x * y;
      aa += x * x;
      bb += y * y;
    }
    out.cos_min = std::min(out.cos_min, dot / std::sqrt(aa * bb));
  }
  out.max_rel = worst / largest;
  out.rms_rel = std::sqrt(square / norm);
  return out;
}

}  // namespace conclave
