#pragma once
// A tiny checkpoint in a public layout with logits by Hugging Face transformers (tests/data/fixtures, and more in
// ../shared/fixtures).
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors_file.h"
#include "device/device.h"
#include "io/file_set.h"
#include "io/json.h"
#include "models/model.h"
#include "models/single_sequence.h"

namespace conclave {

// Another config file in the place of config.json: fixtures have one per key style.
class WithConfig final : public FileSet {
 public:
  WithConfig(std::unique_ptr<FileSet> files, std::string config) : files_(std::move(files)), config_(std::move(config)) {}
  std::shared_ptr<const MappedFile> find(std::string_view name) const override {
    return files_->find(name == "config.json" ? std::string_view(config_) : name);
  }
  std::vector<std::string> names() const override { return files_->names(); }
  std::string location() const override { return files_->location() + " (" + config_ + ")"; }

 private:
  std::unique_ptr<FileSet> files_;
  std::string config_;
};

inline std::filesystem::path tree_data() { return std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests" / "data"; }
inline std::filesystem::path shared_data() { return std::filesystem::path(CONCLAVE_SOURCE_DIR).parent_path() / "shared"; }

// Folders under `root` that have a ref.safetensors and an architecture that this build runs, sorted.
std::vector<std::filesystem::path> fixtures_under(const std::filesystem::path& root);

// Where a tensor of a reference file lies, as a vector of floats or of ints.
class References {
 public:
  explicit References(const std::filesystem::path& file);
  bool has(const std::string& name) const;
  std::vector<float> floats(const std::string& name) const;
  std::vector<std::int32_t> ints(const std::string& name) const;

 private:
  template <class T>
  std::vector<T> values(const std::string& name) const;
  std::unique_ptr<SafetensorsFile> file_;
};

// A loaded model with everything it stands on.
struct LoadedModel {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Device> device;
  std::unique_ptr<Ops> ops;
  std::unique_ptr<Model> model;

  // All logits of `ids` in one piece, then greedy tokens with their margins.
  struct Run {
    std::vector<float> logits;
    std::vector<std::int32_t> greedy;
    std::vector<float> margins;
  };
  Run run(const std::vector<std::int32_t>& ids, int new_tokens, DType kv, int chunk = 512) const;
};
enum class Path { reference, fast };
LoadedModel load_fixture(std::shared_ptr<const FileSet>, Path, std::int32_t max_context = 0);

// How two blocks of logits [rows, vocab] differ.
struct Difference {
  double max_rel = 0;  // max |a - b| / max |b|
  double rms_rel = 0;  // rms(a - b) / rms(b)
  double cos_min = 1;  // worst row
};
Difference compare(std::span<const float> a, std::span<const float> expected, std::size_t vocab);

}  // namespace conclave
