#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "hub/model_source.h"
#include "tests/hub/fake_hub.h"
#include "tests/io/refusal.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

constexpr char kLarge[] = "model-00001-of-00002.safetensors";
constexpr char kSmall[] = "model-00002-of-00002.safetensors";

void expect_complete(const FakeHub& hub, const FileSet& files) {
  EXPECT_EQ(files.names(), (std::vector<std::string>{"config.json", "generation_config.json", kLarge, kSmall,
                                                     "model.safetensors.index.json", "tokenizer.json", "tokenizer_config.json"}));
  for (const std::string& name : files.names()) EXPECT_TRUE(files.find(name)->text() == hub.files().at(name)) << name;
}

TEST(Download, FillsTheCacheInTheSharedLayout) {
  const FakeHub hub;
  const auto files = resolve_model(kRepository, hub.options());
  expect_complete(hub, *files);
  EXPECT_EQ(files->location(), hub.snapshot().string());
  EXPECT_EQ(bytes_of(hub.model_cache() / "refs" / "main"), kCommit);
  EXPECT_EQ(fs::read_symlink(hub.snapshot() / "tokenizer_config.json"), "../../blobs/e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(hub.blob_of(kLarge).size(), 64u);
  for (const auto& entry : fs::directory_iterator(hub.model_cache() / "blobs"))
    EXPECT_NE(entry.path().extension(), ".incomplete") << entry.path();
}

TEST(Download, ASecondOpenAsksOnceAndFetchesNothing) {
  const FakeHub hub;
  resolve_model(kRepository, hub.options());
  const std::size_t before = hub.requests().size();
  expect_complete(hub, *resolve_model("hf://" + std::string(kRepository), hub.options()));
  EXPECT_EQ(hub.requests().size(), before + 1);
  EXPECT_EQ(hub.count("GET /api/models/org/tiny-model/revision/main "), 2);
}

TEST(Download, ACommitIsNotLookedUpAgain) {
  const FakeHub hub;
  const std::string spec = std::string(kRepository) + "@" + std::string(kCommit);
  resolve_model(spec, hub.options());
  const std::size_t before = hub.requests().size();
  expect_complete(hub, *resolve_model(spec, hub.options()));
  EXPECT_EQ(hub.requests().size(), before);
  EXPECT_FALSE(fs::exists(hub.model_cache() / "refs"));
}

TEST(Download, BranchesMayHoldSlashes) {
  const FakeHub hub("revisions", R"(["refs/pr/1"])");
  resolve_model("org/tiny-model@refs/pr/1", hub.options());
  EXPECT_EQ(hub.count("/revision/refs%2Fpr%2F1 "), 1);
  EXPECT_EQ(bytes_of(hub.model_cache() / "refs" / "refs" / "pr" / "1"), kCommit);
}

TEST(Download, GoesOnAfterACutConnection) {
  const FakeHub hub("faults", R"([{"host": "storage", "path": "model-00001", "cut": 2000000}])");
  expect_complete(hub, *resolve_model(kRepository, hub.options()));
  EXPECT_EQ(hub.count(std::string("storage GET /bytes/") + kLarge), 2);
  EXPECT_EQ(hub.count("range=bytes=2000000-"), 2) << "at the hub and at the storage host";
}

TEST(Download, ProgressRenewsPatienceAndItsAbsenceEndsIt) {
  const std::string cuts = R"([{"host": "storage", "path": "model-00001", "cut": 1200000, "times": 2},
                              {"host": "storage", "path": "model-00001", "status": 503, "times": 1}])";
  const FakeHub hub("faults", cuts);
  HubOptions options = hub.options();
  options.attempts = 3;
  expect_complete(hub, *resolve_model(kRepository, options));

  const FakeHub dead("faults", R"([{"host": "storage", "path": "model-00001", "cut": 1000, "times": 100}])");
  const std::string words = refusal(Errc::busy, [&] { resolve_model(kRepository, dead.options()); });
  EXPECT_NE(words.find("failed 3 times in a row"), std::string::npos) << words;
  EXPECT_NE(words.find("the next start goes on from it"), std::string::npos) << words;
  EXPECT_NE(words.find(kLarge), std::string::npos) << words;
  EXPECT_EQ(dead.count(std::string("storage GET /bytes/") + kLarge), 3);
}

TEST(Download, GoesOnAfterAnEarlierStart) {
  const FakeHub hub("faults", R"([{"host": "storage", "path": "model-00001", "cut": 1000000}])");
  HubOptions options = hub.options();
  options.attempts = 1;
  refusal(Errc::busy, [&] { resolve_model(kRepository, options); });
  DownloadProgress last;
  options.progress = [&](const DownloadProgress& progress) { last = progress; };
  expect_complete(hub, *resolve_model(kRepository, options));
  EXPECT_EQ(hub.count("range=bytes=1000000-"), 2);
  EXPECT_GE(last.already, 1'000'000);
  EXPECT_EQ(last.done, last.total);
  for (const FileProgress& file : last.files) EXPECT_EQ(file.done, file.total) << file.name;
}

TEST(Download, AServerWithoutRangesStartsAnew) {
  const FakeHub hub("faults", R"([{"host": "storage", "path": "model-00001", "cut": 1000000},
                              {"host": "storage", "path": "model-00001", "whole": true}])");
  expect_complete(hub, *resolve_model(kRepository, hub.options()));
}

TEST(Download, ARangeThatIsRefusedStartsAnew) {
  const FakeHub hub("faults", R"([{"host": "storage", "path": "model-00001", "cut": 1000000},
                              {"host": "storage", "path": "model-00001", "status": 416}])");
  expect_complete(hub, *resolve_model(kRepository, hub.options()));
  EXPECT_EQ(hub.count("range=bytes=1000000-"), 2);

  const FakeHub always("faults", R"([{"host": "storage", "path": "model-00001", "status": 416, "times": 100}])");
  EXPECT_NE(refusal(Errc::device, [&] { resolve_model(kRepository, always.options()); }).find("status 416"), std::string::npos);
}

TEST(Download, APartialFileThatIsTooLongIsDropped) {
  const FakeHub hub;
  resolve_model(kRepository, hub.options());
  const fs::path blob = hub.model_cache() / "blobs" / hub.blob_of(kSmall);
  fs::remove(blob);
  std::ofstream(blob.string() + ".incomplete", std::ios::binary) << std::string(100'000, 'x');
  expect_complete(hub, *resolve_model(kRepository, hub.options()));
}

TEST(Download, WaitsAsLongAsTheServerAsks) {
  const FakeHub hub(
      "faults", R"([{"host": "hub", "method": "HEAD", "path": "config.json", "status": 429, "headers": {"Retry-After": "1"}}])");
  const auto start = std::chrono::steady_clock::now();
  expect_complete(hub, *resolve_model(kRepository, hub.options()));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));

  const FakeHub busy("faults", R"([{"path": "/api/models", "status": 429, "headers": {"Retry-After": "4000"}}])");
  EXPECT_NE(refusal(Errc::busy, [&] { resolve_model(kRepository, busy.options()); }).find("4000 s"), std::string::npos);
}

TEST(Download, TriesAgainWhenTheServerIsBroken) {
  const FakeHub hub("faults", R"([{"path": "/api/models", "status": 500},
                              {"method": "HEAD", "path": "model-00002", "status": 503, "times": 2},
                              {"host": "storage", "path": "model-00001", "status": 403},
                              {"method": "GET", "path": "/resolve/", "status": 502}])");
  expect_complete(hub, *resolve_model(kRepository, hub.options()));
  EXPECT_EQ(hub.count("/revision/main range= auth= 500"), 1);
}

TEST(Download, AServerThatFallsSilentIsACutConnection) {
  const FakeHub hub("faults", R"([{"path": "/api/models", "hang": 4}])");
  HubOptions options = hub.options();
  options.stall_timeout = std::chrono::seconds(1);
  expect_complete(hub, *resolve_model(kRepository, options));
  EXPECT_EQ(hub.count("/revision/main"), 1) << "the silent one has not answered yet";
}

TEST(Download, WrongBytesAreRefusedAndDeleted) {
  for (const std::string name : {kLarge, "config.json"}) {
    const FakeHub hub("faults", R"([{"method": "GET", "path": ")" + std::string(name == kLarge ? "/bytes/" : "/resolve/") +
                                    (name == kLarge ? "" : std::string(kCommit) + "/") + name + R"(", "corrupt": true}])");
    const std::string words = refusal(Errc::corrupt, [&] { resolve_model(kRepository, hub.options()); });
    EXPECT_NE(words.find("wrong checksum"), std::string::npos) << words;
    EXPECT_NE(words.find(name), std::string::npos) << words;
    EXPECT_FALSE(fs::exists(hub.snapshot() / name));
    expect_complete(hub, *resolve_model(kRepository, hub.options()));
  }
}

TEST(Download, MoreBytesThanPromisedAreRefused) {
  const FakeHub hub("faults", R"([{"method": "HEAD", "path": "model-00002", "override": {"X-Linked-Size": "1000"}}])");
  EXPECT_NE(refusal(Errc::corrupt, [&] { resolve_model(kRepository, hub.options()); }).find("more than the 1000 bytes"),
            std::string::npos);
}

TEST(Download, TheTokenStaysAtItsHost) {
  const FakeHub hub("gated", R"("hf_secret")");
  HubOptions options = hub.options();
  options.token = "hf_secret";
  expect_complete(hub, *resolve_model(kRepository, options));
  EXPECT_GT(hub.count("storage GET"), 0);
  EXPECT_GT(hub.count("resolve-cache"), 0);
  for (const std::string& line : hub.requests()) {
    const bool at_hub = line.rfind("hub ", 0) == 0;
    EXPECT_EQ(line.find("auth=Bearer hf_secret") != line.npos, at_hub) << line;
  }
}

TEST(Download, RedirectsEnd) {
  const FakeHub hub("faults",
                    R"([{"path": "/api/models", "status": 302, "headers": {"Location": "/api/models/again"}, "times": 100}])");
  EXPECT_NE(refusal(Errc::device, [&] { resolve_model(kRepository, hub.options()); }).find("redirects"), std::string::npos);
  const FakeHub other("faults", R"([{"path": "/api/models", "status": 302, "headers": {"Location": "file:///etc/passwd"}}])");
  EXPECT_NE(refusal(Errc::device, [&] { resolve_model(kRepository, other.options()); }).find("file"), std::string::npos);
}

TEST(Download, ADiskThatIsTooSmallIsToldBeforeTheFirstByte) {
  const FakeHub hub;
  HubOptions options = hub.options();
  options.free_space = [&](const fs::path& folder) {
    EXPECT_EQ(folder, hub.cache());
    return std::uintmax_t{2'000'000};
  };
  const std::string words = refusal(Errc::device, [&] { resolve_model(kRepository, options); });
  EXPECT_NE(words.find("3.2 MB are still to be fetched"), std::string::npos) << words;
  EXPECT_NE(words.find("has 2.0 MB free"), std::string::npos) << words;
  EXPECT_NE(words.find("HF_HUB_CACHE"), std::string::npos) << words;
  EXPECT_EQ(hub.count("storage "), 0);
}

TEST(Download, CanBeStoppedAndGoesOn) {
  const FakeHub hub("faults", R"([{"host": "storage", "path": "model-00001", "slow": 0.1}])");
  HubOptions options = hub.options();
  std::int64_t seen = 0;
  options.progress = [&](const DownloadProgress& progress) { seen = progress.done; };
  options.cancelled = [&] { return seen > 300'000; };
  const auto start = std::chrono::steady_clock::now();
  const std::string words = refusal(Errc::cancelled, [&] { resolve_model(kRepository, options); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4)) << "the whole file takes five";
  EXPECT_NE(words.find("goes on from it"), std::string::npos) << words;
  expect_complete(hub, *resolve_model(kRepository, hub.options()));
  EXPECT_EQ(hub.count(std::string("storage GET /bytes/") + kLarge + "?signature=x range= "), 1)
      << "the second start asked for a range";
}

TEST(Download, ACancelledLookUpEnds) {
  const FakeHub hub("faults", R"([{"path": "/api/models", "status": 503, "headers": {"Retry-After": "100"}, "times": 100}])");
  HubOptions options = hub.options();
  options.cancelled = [] { return true; };
  refusal(Errc::cancelled, [&] { resolve_model(kRepository, options); });
}

}  // namespace
}  // namespace conclave
