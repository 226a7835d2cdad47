#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "checkpoint/safetensors_index.h"
#include "tests/checkpoint/safetensors_bytes.h"
#include "tests/io/refusal.h"
#include "tests/io/temporary_folder.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(CONCLAVE_SOURCE_DIR) / "tests/data/fixtures";

std::unique_ptr<Checkpoint> open(const fs::path& folder) { return Checkpoint::open(open_folder(folder)); }

// A shard of one-byte tensors.
std::string shard(const std::vector<std::string>& names) {
  std::string header = "{";
  for (std::size_t i = 0; i < names.size(); ++i)
    header += (i != 0 ? "," : "") + entry(names[i], "U8", "[1]", "[" + std::to_string(i) + "," + std::to_string(i + 1) + "]");
  return safetensors_text(header + "}", names.size());
}

TEST(Checkpoint, SingleFile) {
  const auto checkpoint = open(kFixtures / "qwen3_moe-fp8block-ragged");
  const auto weight = checkpoint->find("model.layers.0.mlp.experts.0.gate_proj.weight");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->dtype, DType::f8e4m3);
  const auto scale = checkpoint->info("model.layers.0.mlp.experts.0.gate_proj.weight_scale_inv");
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->dtype, "F32");
  EXPECT_EQ(scale->bytes, static_cast<std::size_t>(scale->shape[0] * scale->shape[1] * 4));
  EXPECT_TRUE(std::is_sorted(checkpoint->names().begin(), checkpoint->names().end()));
  EXPECT_FALSE(checkpoint->find("nothing"));
  EXPECT_FALSE(checkpoint->info("nothing"));
}

TEST(Checkpoint, ShardsAreOneCheckpoint) {
  const auto checkpoint = open(kFixtures / "qwen3_moe-bf16-sharded");
  const SafetensorsIndex index =
      parse_safetensors_index(MappedFile::open(kFixtures / "qwen3_moe-bf16-sharded/model.safetensors.index.json")->text(), "index");
  std::size_t listed = 0;
  for (const auto& [file, tensors] : index) {
    listed += tensors.size();
    for (const std::string& name : tensors) {
      const auto info = checkpoint->info(name);
      ASSERT_TRUE(info) << name;
      EXPECT_TRUE(info->file.ends_with(file)) << info->file;
      EXPECT_EQ(info->dtype, "BF16");
      EXPECT_EQ(checkpoint->find(name)->bytes(), static_cast<std::int64_t>(info->bytes));
    }
  }
  EXPECT_EQ(index.size(), 3u);
  EXPECT_EQ(checkpoint->names().size(), listed);
  EXPECT_EQ(checkpoint->total_bytes(), 2630144u);  // the index file's metadata.total_size
}

TEST(Checkpoint, HeadersTellTheSameWithoutValues) {
  for (const char* name : {"qwen3_moe-fp8block-ragged", "qwen3_moe-bf16-sharded"}) {
    const auto whole = open(kFixtures / name), headers = Checkpoint::open_headers(open_folder(kFixtures / name));
    EXPECT_TRUE(whole->has_values());
    EXPECT_FALSE(headers->has_values());
    EXPECT_EQ(headers->total_bytes(), whole->total_bytes());
    ASSERT_TRUE(std::ranges::equal(headers->names(), whole->names()));
    for (const std::string& tensor : whole->names()) {
      const TensorInfo expected = *whole->info(tensor), told = *headers->info(tensor);
      EXPECT_EQ(told.dtype, expected.dtype);
      EXPECT_TRUE(std::ranges::equal(told.shape, expected.shape));
      EXPECT_EQ(told.bytes, expected.bytes);
      EXPECT_EQ(told.file, expected.file);
      EXPECT_EQ(headers->find(tensor)->shape, whole->find(tensor)->shape);
      EXPECT_EQ(headers->find(tensor)->dtype, whole->find(tensor)->dtype);
    }
    EXPECT_TRUE(headers->unused().empty());
  }
}

TEST(Checkpoint, BrokenHeadersAreRefusedInTheSameWords) {
  const std::string good = shard({"a", "b"});
  for (const std::string& bytes : {std::string(), good.substr(0, 5), good.substr(0, 30), good.substr(0, good.size() - 1),
                                   std::string(8, '\xff') + good, safetensors_text("{]", 0), safetensors_text("[]", 0)}) {
    const TemporaryFolder folder;
    folder.write("model.safetensors", bytes);
    const auto words = [&](auto open_it) { return refusal(Errc::corrupt, [&] { open_it(open_folder(folder.path())); }); };
    EXPECT_EQ(words(Checkpoint::open_headers), words(Checkpoint::open)) << bytes.size();
  }
}

TEST(Checkpoint, RemembersWhatWasUsed) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", shard({"a", "b", "c"}));
  const auto checkpoint = open(folder.path());
  EXPECT_EQ(checkpoint->unused(), (std::vector<std::string_view>{"a", "b", "c"}));
  checkpoint->info("a");
  checkpoint->find("b");
  EXPECT_EQ(checkpoint->unused(), (std::vector<std::string_view>{"a", "c"}));
  std::vector<std::thread> threads;
  for (const char* name : {"a", "c", "a", "c"}) threads.emplace_back([&checkpoint, name] { checkpoint->find(name); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(checkpoint->unused().empty());
}

TEST(Checkpoint, SingleFileWinsOverAnIndex) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", shard({"a"}));
  folder.write("model.safetensors.index.json", "not even JSON");
  EXPECT_EQ(open(folder.path())->names().size(), 1u);
}

TEST(Checkpoint, EmbeddedFiles) {
  const Bytes file = bytes_of(shard({"a", "b"}));
  const auto checkpoint = Checkpoint::open(embedded_files("tiny", {{"model.safetensors", file}}));
  EXPECT_EQ(checkpoint->find("b")->data, file.data() + file.size() - 1);
  EXPECT_EQ(checkpoint->info("b")->file, "embedded:tiny/model.safetensors");
  EXPECT_EQ(checkpoint->files().location(), "embedded:tiny");
}

TEST(Checkpoint, IndexAndShardsMustAgreeAndAllProblemsAreTold) {
  const TemporaryFolder folder;
  folder.write("1.safetensors", shard({"a", "b", "extra"}));
  folder.write("2.safetensors", shard({"c", "a"}));  // a is in two shards
  folder.write("3.safetensors", "broken");
  folder.write("model.safetensors.index.json",
               R"({"metadata":{"total_size":1},"weight_map":{"a":"1.safetensors","b":"1.safetensors","gone":"1.safetensors",
                  "c":"2.safetensors","d":"3.safetensors","e":"4.safetensors","f":"4.safetensors"}})");
  const std::string words = refusal(Errc::corrupt, [&] { open(folder.path()); });
  EXPECT_NE(words.find("5 problems"), std::string::npos) << words;
  for (const char* told :
       {"tensor 'gone' is not in '1.safetensors'", "tensor 'extra' is in '1.safetensors', where the index does not have it",
        "tensor 'a' is in '2.safetensors'", "3.safetensors", "the file '4.safetensors' is missing, and with it 2 tensors"})
    EXPECT_NE(words.find(told), std::string::npos) << told << " in " << words;
}

TEST(Checkpoint, IndexCannotReachOutsideTheFolder) {
  const TemporaryFolder outer;
  fs::create_directory(outer.path() / "model");
  outer.write("secret.safetensors", shard({"a"}));
  outer.write("model/model.safetensors.index.json", R"({"weight_map":{"a":"../secret.safetensors"}})");
  EXPECT_NE(refusal(Errc::corrupt, [&] { open(outer.path() / "model"); }).find("'../secret.safetensors'"), std::string::npos);
}

TEST(Checkpoint, OtherLayoutsAreNamed) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  EXPECT_NE(refusal(Errc::not_found, [&] { open(folder.path()); }).find("holds no weights"), std::string::npos);
  for (const char* name :
       {"pytorch_model.bin", "model-Q4_K_M.gguf", "consolidated.safetensors", "model-00001-of-00002.safetensors"}) {
    folder.write(name, "x");
    const std::string words = refusal(Errc::unsupported, [&] { open(folder.path()); });
    EXPECT_NE(words.find("'" + std::string(name) + "'"), std::string::npos) << words;
  }
}

TEST(Checkpoint, LinksIntoAHubCache) {
  const TemporaryFolder cache;
  fs::create_directories(cache.path() / "blobs");
  fs::create_directories(cache.path() / "snapshots/abc");
  cache.write("blobs/1", shard({"a"}));
  cache.write("blobs/2", R"({"weight_map":{"a":"model-1.safetensors"}})");
  fs::create_symlink("../../blobs/1", cache.path() / "snapshots/abc/model-1.safetensors");
  fs::create_symlink("../../blobs/2", cache.path() / "snapshots/abc/model.safetensors.index.json");
  EXPECT_EQ(open(cache.path() / "snapshots/abc")->names().size(), 1u);
  fs::remove(cache.path() / "blobs/1");
  EXPECT_NE(refusal(Errc::corrupt, [&] { open(cache.path() / "snapshots/abc"); }).find("does not exist"), std::string::npos);
}

// As many tensors and shards as DeepSeek-V3 has.
TEST(Checkpoint, ManyTensorsOpenQuickly) {
  constexpr int kShards = 163, kPerShard = 553;
  const TemporaryFolder folder;
  std::string index = R"({"metadata":{"total_size":0},"weight_map":{)";
  for (int s = 0; s < kShards; ++s) {
    std::vector<std::string> names;
    const std::string file = "model-" + std::to_string(s) + ".safetensors";
    for (int i = 0; i < kPerShard; ++i) {
      names.push_back("model.layers." + std::to_string(s) + ".mlp.experts." + std::to_string(i) + ".gate_proj.weight_scale_inv");
      index += (s + i != 0 ? ",\"" : "\"") + names.back() + "\":\"" + file + "\"";
    }
    folder.write(file, shard(names));
  }
  folder.write("model.safetensors.index.json", index + "}}");
  const auto start = std::chrono::steady_clock::now();
  const auto checkpoint = open(folder.path());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%zu tensors in %d shards opened in %.2f s\n", checkpoint->names().size(), kShards, seconds);
  EXPECT_EQ(checkpoint->names().size(), static_cast<std::size_t>(kShards * kPerShard));
  EXPECT_LT(seconds, 20.0);  // a second with optimisation; room for sanitizers
}

}  // namespace
}  // namespace conclave
