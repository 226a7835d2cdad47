// How a model is loaded: by how many threads, in how much memory, and with what word of its progress.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "checkpoint/dummy_checkpoint.h"
#include "checkpoint/safetensors_writer.h"
#include "conclave/error.h"
#include "io/json.h"
#include "tests/io/temporary_folder.h"
#include "tests/models/fixture.h"
#include "tests/sanitized.h"

namespace conclave {
namespace {

constexpr std::int64_t kLayers = 10, kExperts = 16, kHidden = 256, kInter = 256, kVocab = 512, kBytes = 2;
constexpr std::int64_t kAttention = 4 * kHidden * kHidden * kBytes, kLayer = 3 * kExperts * kHidden * kInter * kBytes + kAttention;
constexpr std::int64_t kEmbedding = kVocab * kHidden * kBytes;
constexpr std::int64_t kWeights = kLayers * kLayer + 2 * kEmbedding + kLayers * kExperts * kHidden * kBytes;

// A folder with a model of random weights of that type: 68 MB.
void write_model(const TemporaryFolder& folder, const std::string& dtype) {
  Json config = parse_json(open_folder(tree_data() / "fixtures" / "qwen3_moe-bf16-sharded")->find("config.json")->text(), "config");
  config.update({{"dtype", dtype},
                 {"num_hidden_layers", kLayers},
                 {"num_local_experts", kExperts},
                 {"hidden_size", kHidden},
                 {"moe_intermediate_size", kInter},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 4},
                 {"head_dim", kHidden / 4},
                 {"vocab_size", kVocab}});
  folder.write("config.json", config.dump());
  const auto dummy = open_dummy_checkpoint(open_folder(folder.path()), DummyValues::random);
  const auto device = open_cpu_device(1);
  const auto ops = make_cpu_ops(device->caps());
  plan_model(*dummy, {*device, *ops});
  std::vector<NamedTensor> tensors;
  for (const std::string& name : dummy->names()) tensors.push_back({name, *dummy->find(name)});
  write_safetensors(folder.path() / "model.safetensors", tensors);
}

std::unique_ptr<Model> load(const Checkpoint& checkpoint, Device& device, const Ops& ops,
                            std::function<void(std::int64_t, std::int64_t)> progress) {
  LoadContext context{.device = device, .ops = ops, .progress = std::move(progress)};
  return load_model(checkpoint, context);
}

// Bytes of this process in memory, of maps of files and others.
struct Resident {
  std::int64_t files = 0, others = 0;
};
Resident resident() {
  std::ifstream status("/proc/self/status");
  Resident out;
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "RssFile:" || word == "RssShmem:") out.files += (status >> kilobytes, kilobytes) * 1024;
    if (word == "RssAnon:") out.others += (status >> kilobytes, kilobytes) * 1024;
  }
  return out;
}

struct Watched {
  std::int64_t published = 0;         // most bytes of the files in memory at once
  Resident grown;                     // by the load
  std::vector<std::int64_t> reports;  // of progress
  std::int64_t total = 0;
};
Watched watch_load(const TemporaryFolder& folder, int threads) {
  const auto device = open_cpu_device(threads);
  const auto ops = make_cpu_ops(device->caps());
  const auto checkpoint = Checkpoint::open(open_folder(folder.path()));
  Watched out;
  const Resident before = resident();
  const auto model = load(*checkpoint, *device, *ops, [&](std::int64_t done, std::int64_t total) {
    out.published = std::max(out.published, resident().files - before.files);
    out.reports.push_back(done);
    out.total = total;
  });
  const Resident after = resident();
  out.grown = {after.files - before.files, after.others - before.others};
  return out;
}

constexpr std::int64_t kSlack = 4 << 20;  // code that was not in memory before, pages that the system reads around others

TEST(Loading, WhatIsCopiedLeavesMemoryLayerByLayer) {
  const TemporaryFolder folder;
  write_model(folder, "float16");  // which the kernels do not read
  for (int threads : {1, 2}) {
    const Watched load = watch_load(folder, threads);
    EXPECT_LE(load.published, kLayer + kEmbedding + kSlack) << threads << " threads; the model has " << kWeights;
    EXPECT_GE(load.published, kLayer / 2) << "was a layer read at all?";
    EXPECT_LE(load.grown.files, kEmbedding + kSlack) << "only the embedding is used in place";
  }
}

TEST(Loading, WhatIsUsedInPlaceIsReadAndNotCopied) {
  const TemporaryFolder folder;
  write_model(folder, "bfloat16");
  for (int threads : {1, 2}) {
    const Watched load = watch_load(folder, threads);
    EXPECT_GE(load.grown.files, kWeights - kSlack);
    EXPECT_LE(load.grown.files, kWeights + kSlack);
    EXPECT_TRUE(kSanitized || load.grown.others <= kWeights / 5) << load.grown.others;  // sanitizers keep notes of every page
  }
}

TEST(Loading, ProgressCountsTheBytesOfAllMatrices) {
  const TemporaryFolder folder;
  write_model(folder, "bfloat16");
  for (int threads : {1, 2}) {
    const Watched load = watch_load(folder, threads);
    EXPECT_EQ(load.total, kWeights);
    EXPECT_TRUE(std::is_sorted(load.reports.begin(), load.reports.end()));
    EXPECT_EQ(load.reports.back(), kWeights);
    EXPECT_GE(std::ssize(load.reports), kLayers);
  }
}

TEST(Loading, ProgressIsToldByTheCallersThreadAndMayEndTheLoad) {
  const TemporaryFolder folder;
  write_model(folder, "bfloat16");
  const auto device = open_cpu_device(2);
  const auto ops = make_cpu_ops(device->caps());
  const auto checkpoint = Checkpoint::open(open_folder(folder.path()));
  const auto caller = std::this_thread::get_id();
  std::int64_t reached = 0;
  try {
    load(*checkpoint, *device, *ops, [&](std::int64_t done, std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      reached = done;
      if (done > kWeights / 3) throw Error(Errc::cancelled, "enough");
    });
    ADD_FAILURE() << "loaded";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::cancelled);
    EXPECT_STREQ(e.what(), "enough");
  }
  EXPECT_LE(reached, kWeights / 3 + kLayer) << "it went on";
}

// Lines of the report do not depend on who did what first.
TEST(Loading, TheReportIsTheSameForAnyNumberOfThreads) {
  const auto checkpoint = Checkpoint::open(open_folder(tree_data() / "fixtures" / "qwen3_moe-nvfp4-kvfp8"));
  const auto report = [&](int threads) {
    const auto device = open_cpu_device(threads);
    const auto ops = make_cpu_ops(device->caps());
    std::string text;
    const auto model = load(*checkpoint, *device, *ops, {});
    for (const auto& line : model->report().lines) text += line.where + "|" + line.what + "\n";
    return text;
  };
  const std::string alone = report(1);
  EXPECT_NE(alone.find("cpu_latency"), std::string::npos) << alone;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(report(2), alone);
}

}  // namespace
}  // namespace conclave
