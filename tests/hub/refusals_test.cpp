#include <gtest/gtest.h>

#include "hub/model_source.h"
#include "tests/hub/fake_hub.h"
#include "tests/io/refusal.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

void expect_in(const std::string& words, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) EXPECT_NE(words.find(part), std::string::npos) << part << " is not in: " << words;
}

TEST(Refusal, GatedModels) {
  const FakeHub hub("gated", R"("hf_right")");
  HubOptions options = hub.options();
  expect_in(refusal(Errc::bad_input, [&] { resolve_model(kRepository, options); }),
            {"is gated", "accept its licence at " + options.endpoint + "/org/tiny-model", "set HF_TOKEN",
             "Access to this model is restricted"});
  options.token = "hf_wrong";
  const std::string words = refusal(Errc::bad_input, [&] { resolve_model(kRepository, options); });
  expect_in(words, {"the account of the token in use may not read it", "accept its licence"});
  EXPECT_EQ(words.find("hf_wrong"), std::string::npos);
  EXPECT_FALSE(fs::exists(hub.model_cache() / "refs")) << "nothing was fetched, so nothing is remembered";
}

TEST(Refusal, UnknownModels) {
  const FakeHub hub;
  HubOptions options = hub.options();
  expect_in(refusal(Errc::not_found, [&] { resolve_model("org/tiny-modle", options); }),
            {"has no model 'org/tiny-modle', or it is private", "check the spelling", "HF_TOKEN"});
  options.token = "hf_any";
  expect_in(refusal(Errc::not_found, [&] { resolve_model("org/tiny-modle", options); }),
            {"the account of the token in use may not see it"});
}

TEST(Refusal, ARefusedToken) {
  const FakeHub hub("faults", R"([{"path": "/api/models", "status": 401}, {"path": "/api/models", "status": 403}])");
  HubOptions options = hub.options();
  options.token = "hf_stale";
  expect_in(refusal(Errc::bad_input, [&] { resolve_model(kRepository, options); }), {"refuses the token", "401", "still valid"});
  expect_in(refusal(Errc::bad_input, [&] { resolve_model(kRepository, options); }), {"forbids", "403", "accept its licence"});
}

TEST(Refusal, UnknownRevisionsAndFiles) {
  const FakeHub hub;
  expect_in(refusal(Errc::not_found, [&] { resolve_model("org/tiny-model@v9", hub.options()); }),
            {"has no revision 'v9'", "branch, a tag or a commit", "Invalid rev id: v9"});
  const FakeHub other("listed", R"(["config.json", "model.safetensors"])");
  expect_in(refusal(Errc::not_found, [&] { resolve_model(kRepository, other.options()); }),
            {"has no file 'model.safetensors'", "revision 'main'"});
}

TEST(Refusal, ARepositoryWithoutAModelForUs) {
  const FakeHub hub("listed", R"(["config.json", "model.gguf", "pytorch_model.bin", "original/model.safetensors"])");
  expect_in(refusal(Errc::not_found, [&] { resolve_model(kRepository, hub.options()); }),
            {"has no .safetensors file", ".gguf are not read"});
  EXPECT_EQ(hub.requests().size(), 1u);
}

TEST(Refusal, AHubThatCannotBeReached) {
  FakeHub hub;
  HubOptions options = hub.options();
  options.attempts = 6;
  options.first_pause = HubOptions().first_pause;
  hub.stop();
  const auto start = std::chrono::steady_clock::now();
  expect_in(refusal(Errc::busy, [&] { resolve_model(kRepository, options); }),
            {"asking for model 'org/tiny-model' failed 2 times in a row", "127.0.0.1"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Refusal, APasswordInTheAddressIsNeverShown) {
  const std::string secret = "me:secret@";
  const auto told = [&](Errc code, const FakeHub& hub, std::string_view model = kRepository) {
    HubOptions options = hub.options();
    options.endpoint.insert(options.endpoint.find("://") + 3, secret);
    const std::string words = refusal(code, [&] { resolve_model(model, options); });
    EXPECT_EQ(words.find("secret"), std::string::npos) << words;
    EXPECT_NE(words.find("127.0.0.1"), std::string::npos) << words;
  };
  told(Errc::not_found, FakeHub(), "org/tiny-modle");
  told(Errc::not_found, FakeHub(), "org/tiny-model@v9");
  told(Errc::not_found, FakeHub("listed", R"(["config.json"])"));
  told(Errc::bad_input, FakeHub("gated", R"("hf_right")"));
  told(Errc::bad_input, FakeHub("faults", R"([{"path": "/api/models", "status": 403}])"));
  told(Errc::busy, FakeHub("faults", R"([{"path": "/api/models", "status": 503, "times": 100}])"));
  told(Errc::device, FakeHub("faults", R"([{"path": "/api/models", "status": 418}])"));
  FakeHub gone;
  gone.stop();
  told(Errc::busy, gone);
}

TEST(Refusal, ANameWithoutAnAddressIsTriedTwiceAndSaidSo) {
  const FakeHub hub;
  HubOptions options = hub.options();
  options.endpoint = "http://me:secret@no-such-host.invalid";  // RFC 6761: never resolves
  options.attempts = 6;
  testing::internal::CaptureStderr();
  const std::string words = refusal(Errc::busy, [&] { resolve_model(kRepository, options); });
  const std::string log = testing::internal::GetCapturedStderr();
  expect_in(words, {"asking for model 'org/tiny-model' failed 2 times in a row", "no-such-host.invalid"});
  expect_in(log, {"asking for model 'org/tiny-model'", "no-such-host.invalid", "trying again in"});
  EXPECT_EQ(words.find("secret"), std::string::npos) << words;
  EXPECT_EQ(log.find("secret"), std::string::npos) << log;
}

TEST(Untrusted, NamesThatLeaveTheFolderAreNotFetched) {
  const FakeHub hub("listed",
                    R"(["config.json", "tokenizer.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors",
                                  "model-00002-of-00002.safetensors", "../../../../evil.safetensors", "/tmp/evil.safetensors", "..", "",
                                  "original/config.json", "a\\b.safetensors", "consolidated.safetensors"])");
  const auto files = resolve_model(kRepository, hub.options());
  EXPECT_EQ(files->names().size(), 5u);
  EXPECT_EQ(hub.count("evil"), 0);
  EXPECT_EQ(hub.count("original"), 0);
  EXPECT_EQ(hub.count("consolidated"), 0);
}

TEST(Untrusted, Descriptions) {
  const auto told = [](const std::string& headers) {
    const FakeHub hub("faults", R"([{"method": "HEAD", "path": "model-00002", "override": )" + headers + "}]");
    return refusal(Errc::corrupt, [&] { resolve_model(kRepository, hub.options()); });
  };
  expect_in(told(R"({"X-Linked-Etag": "\"../../x\""})"), {"no ETag that can name a file", "../../x"});
  expect_in(told(R"({"X-Linked-Etag": "\"..\""})"), {"no ETag that can name a file"});
  expect_in(told(R"({"X-Linked-Size": "-1"})"), {"has no size", "'-1'"});
  expect_in(told(R"({"X-Linked-Size": "99999999999999999999"})"), {"has no size"});
  expect_in(told(R"({"X-Linked-Size": "9000000000000000000"})"), {"promises 9000000000000000000 bytes"});
  expect_in(told(R"({"X-Repo-Commit": "ffffffffffffffffffffffffffffffffffffffff"})"), {"is of another commit"});
}

TEST(Untrusted, Listings) {
  const auto told = [](const std::string& member, const std::string& value) {
    const FakeHub hub(member, value);
    return refusal(Errc::corrupt, [&] { resolve_model(kRepository, hub.options()); });
  };
  expect_in(told("commit", R"("../../x")"), {"names no commit"});
  expect_in(told("listed", R"(["config.json", 1])"), {"sibling without 'rfilename'"});
}

TEST(Spec, NeitherFolderNorModel) {
  const TemporaryFolder folder;
  const HubOptions options;
  fs::create_directory(folder.path() / "tiny-model");
  const std::string near = (folder.path() / "tiny-modle").string();
  expect_in(refusal(Errc::not_found, [&] { resolve_model(near, options); }),
            {"there is no folder '" + near, "expected a folder with config.json", "org/name@revision",
             "did you mean the folder '" + (folder.path() / "tiny-model").string() + "'?"});
  expect_in(refusal(Errc::not_found, [&] { resolve_model("", options); }), {"there is no folder ''"});
  expect_in(refusal(Errc::bad_input, [&] { resolve_model("hf://a/b/c", options); }), {"'hf://a/b/c'", "expected hf://org/name"});
  expect_in(refusal(Errc::not_found, [&] { resolve_model(folder.write("file", "x").string(), options); }), {"is not a folder"});
}

TEST(Spec, AFolderIsOpenedWithoutTheHub) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  EXPECT_EQ(resolve_model(folder.path().string(), HubOptions{})->names(), std::vector<std::string>{"config.json"});
}

TEST(Spec, AMistypedFolderThatLooksLikeAModelIsToldToo) {
  const FakeHub hub;
  fs::create_directories(hub.folder() / "models" / "tiny");
  const fs::path here = fs::current_path();
  fs::current_path(hub.folder());
  const std::string words = refusal(Errc::not_found, [&] { resolve_model("models/tniy", hub.options()); });
  fs::current_path(here);
  expect_in(words, {"has no model 'models/tniy'", "no local folder 'models/tniy'", "did you mean the folder 'models/tiny'?"});
}

}  // namespace
}  // namespace conclave
