#include "hub/cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/file_lock.h"
#include "hub/model_source.h"
#include "tests/hub/fake_hub.h"
#include "tests/io/refusal.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

constexpr char kLarge[] = "model-00001-of-00002.safetensors";

TEST(Offline, ACompleteCacheNeedsNoHub) {
  FakeHub hub;
  HubOptions options = hub.options();
  resolve_model(kRepository, options);
  hub.stop();
  options.offline = true;
  options.endpoint = "http://127.0.0.1:1";
  for (const std::string& spec : {std::string(kRepository), "hf://org/tiny-model@" + std::string(kCommit)})
    EXPECT_EQ(resolve_model(spec, options)->location(), hub.snapshot().string()) << spec;
}

TEST(Offline, AnIncompleteCacheIsTold) {
  const FakeHub hub;
  HubOptions options = hub.options();
  options.offline = true;
  std::string words = refusal(Errc::not_found, [&] { resolve_model(kRepository, options); });
  EXPECT_NE(words.find("is not in the cache '" + hub.cache().string() + "', and HF_HUB_OFFLINE is set"), std::string::npos)
      << words;
  EXPECT_EQ(hub.requests().size(), 0u);

  options.offline = false;
  resolve_model(kRepository, options);
  fs::remove(hub.model_cache() / "blobs" / hub.blob_of(kLarge));
  const std::size_t before = hub.requests().size();
  options.offline = true;
  words = refusal(Errc::not_found, [&] { resolve_model(kRepository, options); });
  EXPECT_NE(words.find(std::string("lacks '") + kLarge + "'"), std::string::npos) << words;
  EXPECT_NE(words.find("HF_HUB_OFFLINE is set"), std::string::npos) << words;
  EXPECT_EQ(hub.requests().size(), before);

  options.offline = false;
  resolve_model(kRepository, options);
  EXPECT_EQ(hub.count(std::string("storage GET /bytes/") + kLarge), 2);
  EXPECT_EQ(hub.count("storage GET"), 3) << "only what was missing is fetched";
}

TEST(Offline, AHubThatIsDownLeavesTheCacheUsable) {
  FakeHub hub;
  const HubOptions options = hub.options();
  resolve_model(kRepository, options);
  hub.stop();
  EXPECT_EQ(resolve_model(kRepository, options)->location(), hub.snapshot().string());
}

TEST(Cache, MissingFiles) {
  const TemporaryFolder folder;
  using Names = std::vector<std::string>;
  EXPECT_EQ(missing_from(folder.path() / "none", true), (Names{"config.json", "model.safetensors"}));
  folder.write("config.json", "{}");
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"x": "2.safetensors", "y": "1.safetensors", "z": "1.safetensors"}})");
  EXPECT_EQ(missing_from(folder.path(), true), (Names{"1.safetensors", "2.safetensors"}));
  fs::create_symlink("../gone", folder.path() / "1.safetensors");
  folder.write("2.safetensors", "");
  EXPECT_EQ(missing_from(folder.path(), true), Names{"1.safetensors"});
  folder.write("model.safetensors.index.json", R"({"weight_map": {"x": "../2.safetensors"}})");
  EXPECT_NE(refusal(Errc::corrupt, [&] { missing_from(folder.path(), true); }).find("not a plain file name"), std::string::npos);
  fs::remove(folder.path() / "model.safetensors.index.json");
  folder.write("model.safetensors", "");
  EXPECT_EQ(missing_from(folder.path(), true), Names{});
}

TEST(WithoutWeights, OnlyConfigurationAndTokenizerAreFetched) {
  const FakeHub hub;
  HubOptions options = hub.options();
  options.weights = false;
  const auto small = std::vector<std::string>{"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"};
  EXPECT_EQ(resolve_model(kRepository, options)->names(), small);
  EXPECT_EQ(hub.count("safetensors"), 0);

  options.offline = true;
  EXPECT_EQ(resolve_model(kRepository, options)->names(), small);
  options.weights = true;
  EXPECT_NE(refusal(Errc::not_found, [&] { resolve_model(kRepository, options); }).find("lacks 'model.safetensors'"),
            std::string::npos);
  options.offline = false;
  EXPECT_EQ(resolve_model(kRepository, options)->names().size(), 7u) << "weights follow when they are needed";

  const FakeHub other("listed", R"(["config.json", "pytorch_model.bin"])");
  options = other.options();
  options.weights = false;
  EXPECT_EQ(resolve_model(kRepository, options)->names(), std::vector<std::string>{"config.json"});
}

TEST(WithoutWeights, AnInterruptedFetchIsCompletedAlsoForACommit) {
  const FakeHub hub;
  HubOptions options = hub.options();
  options.weights = false;
  const std::string spec = std::string(kRepository) + "@" + std::string(kCommit);
  resolve_model(spec, options);
  fs::remove(hub.snapshot() / "tokenizer.json");
  EXPECT_EQ(resolve_model(spec, options)->names().size(), 4u);
}

TEST(Cache, ARefThatIsNoCommitIsNotBelieved) {
  const TemporaryFolder folder;
  const ModelCache cache(folder.path(), {"org/name", "main"});
  fs::create_directories(folder.path() / "models--org--name" / "refs");
  EXPECT_FALSE(cache.commit_of("main"));
  folder.write("models--org--name/refs/main", "../../../../etc");
  EXPECT_FALSE(cache.commit_of("main"));
  folder.write("models--org--name/refs/main", kCommit);
  EXPECT_EQ(cache.commit_of("main"), kCommit);
}

TEST(FileLock, IsHeldByOneAtATime) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "locks" / "x.lock";
  StopFlag go, stopped;
  const FileLock first(path, go);
  stopped.set();
  refusal(Errc::cancelled, [&] { const FileLock second(path, stopped); });
  const FileLock other(folder.path() / "y.lock", stopped);
}

// The child leaves without running destructors, so that the server stays the parent's.
pid_t resolve_in_child(const HubOptions& options) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    const auto files = resolve_model(kRepository, options);
    ::_exit(files->names().size() == 7 ? 0 : 1);
  } catch (...) {
    ::_exit(2);
  }
}

TEST(TwoProcesses, FetchEachBlobOnce) {
  const FakeHub hub("faults", R"([{"host": "storage", "path": "model-00001", "slow": 0.02}])");
  const HubOptions options = hub.options();
  const pid_t children[] = {resolve_in_child(options), resolve_in_child(options)};
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_EQ(hub.count("hub HEAD /org/tiny-model/resolve/" + std::string(kCommit) + "/" + kLarge), 2) << "both looked";
  EXPECT_EQ(hub.count("storage GET"), 2) << "two shards";
  EXPECT_TRUE(bytes_of(hub.snapshot() / kLarge) == hub.files().at(kLarge));
}

}  // namespace
}  // namespace conclave
