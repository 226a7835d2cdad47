#include "hub/options.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "hub/shown.h"
#include "tests/io/refusal.h"
#include "tests/io/temporary_folder.h"

namespace conclave {
namespace {

// Only the named variables of those that matter are set while it lives; the process ends with the tests, nothing is put back.
void set_only(const std::vector<std::pair<const char*, std::string>>& set) {
  for (const char* name :
       {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HF_ENDPOINT", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
        "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_IMPLICIT_TOKEN"})
    ::unsetenv(name);
  for (const auto& [name, value] : set) ::setenv(name, value.c_str(), 1);
}

TEST(HubOptions, CacheFolder) {
  set_only({{"HOME", "/home/me"}});
  EXPECT_EQ(hub_options_from_environment().cache, "/home/me/.cache/huggingface/hub");
  set_only({{"XDG_CACHE_HOME", "/caches"}});
  EXPECT_EQ(hub_options_from_environment().cache, "/caches/huggingface/hub");
  set_only({{"XDG_CACHE_HOME", "/caches"}, {"HF_HOME", "~/hf"}});
  EXPECT_EQ(hub_options_from_environment().cache, "/home/me/hf/hub");
  set_only({{"HF_HOME", "/hf"}, {"HF_HUB_CACHE", "/big"}});
  EXPECT_EQ(hub_options_from_environment().cache, "/big");
  set_only({{"HF_HOME", "/hf"}, {"HUGGINGFACE_HUB_CACHE", "/old"}});
  EXPECT_EQ(hub_options_from_environment().cache, "/old");
  set_only({{"HF_HUB_CACHE", "/big"}, {"HUGGINGFACE_HUB_CACHE", "/old"}});
  EXPECT_EQ(hub_options_from_environment().cache, "/big");
}

TEST(HubOptions, VariablesInPathsAreReplaced) {  // as Python's os.path.expandvars does
  ::setenv("CONCLAVE_TEST_DISK", "/disk", 1);
  set_only({{"HF_HUB_CACHE", "$CONCLAVE_TEST_DISK/a/${CONCLAVE_TEST_DISK}b$$x/$CONCLAVE_TEST_NONE/${broken/$"}});
  EXPECT_EQ(hub_options_from_environment().cache, "/disk/a//diskb$$x/$CONCLAVE_TEST_NONE/${broken/$");
}

TEST(HubOptions, EndpointAndOffline) {
  set_only({});
  EXPECT_EQ(hub_options_from_environment().endpoint, "https://huggingface.co");
  EXPECT_FALSE(hub_options_from_environment().offline);
  set_only({{"HF_ENDPOINT", "https://mirror.example/"}, {"HF_HUB_OFFLINE", "1"}});
  EXPECT_EQ(hub_options_from_environment().endpoint, "https://mirror.example");
  EXPECT_TRUE(hub_options_from_environment().offline);
  set_only({{"HF_ENDPOINT", "mirror.example"}, {"HF_HUB_OFFLINE", "0"}});
  EXPECT_NE(refusal(Errc::bad_input, [] { hub_options_from_environment(); }).find("'mirror.example'"), std::string::npos);
  set_only({{"TRANSFORMERS_OFFLINE", "YES"}});
  EXPECT_TRUE(hub_options_from_environment().offline);
  EXPECT_EQ(hub_options_from_environment().offline_variable, "TRANSFORMERS_OFFLINE");
  set_only({{"HF_HUB_OFFLINE", "0"}, {"TRANSFORMERS_OFFLINE", "1"}});
  EXPECT_FALSE(hub_options_from_environment().offline);
}

TEST(HubOptions, AMalformedEndpointIsAWrongValue) {
  for (const char* value : {"http://", "https://:80", "http://[::1", "http://host:port", "http://host:99999", "http://two words"}) {
    set_only({{"HF_ENDPOINT", value}});
    EXPECT_NE(refusal(Errc::bad_input, [] { hub_options_from_environment(); }).find("HF_ENDPOINT is '"), std::string::npos)
        << value;
  }
  for (const char* value : {"http://[::1]:8080", "http://127.0.0.1:1/a/b", "https://me:pw@host.example"}) {
    set_only({{"HF_ENDPOINT", value}});
    EXPECT_EQ(hub_options_from_environment().endpoint, value);
  }
}

TEST(HubOptions, APasswordInTheEndpointIsNotShownAndNoValueWithoutEnd) {
  const std::string values[] = {"me:secret@mirror.example", "https://me:se/cret@mirror.example",
                                "ftp://" + std::string(100'000, 'x')};
  for (const std::string& value : values) {
    set_only({{"HF_ENDPOINT", value}});
    const std::string words = refusal(Errc::bad_input, [] { hub_options_from_environment(); });
    EXPECT_NE(words.find("HF_ENDPOINT"), std::string::npos) << words;
    EXPECT_EQ(words.find("cret"), std::string::npos) << words;
    EXPECT_LT(words.size(), 400u);
  }
  set_only({{"HF_ENDPOINT", "https://me:secret@mirror.example/hub/"}});
  EXPECT_EQ(hub_options_from_environment().endpoint, "https://me:secret@mirror.example/hub");
  set_only({{"HF_TOKEN_PATH", "/tmp/" + std::string(100'000, 'x')}});
  EXPECT_EQ(hub_options_from_environment().token, "");
}

TEST(Shown, Addresses) {
  EXPECT_EQ(shown_address("https://me:pw@mirror.example:8443/hub"), "https://mirror.example:8443/hub");
  EXPECT_EQ(shown_address("https://me:p@w@mirror.example/a"), "https://mirror.example/a");
  EXPECT_EQ(shown_address("https://store.example/blob?X-Signature=abc"), "https://store.example/blob");
  EXPECT_EQ(shown_address("https://huggingface.co"), "https://huggingface.co");
  EXPECT_EQ(shown_address("a\nb"), "a\\x0ab");
  EXPECT_LT(shown_address("https://" + std::string(100'000, 'x')).size(), 250u);
  EXPECT_LT(shown_path(std::string(100'000, 'x')).size(), 450u);
}

TEST(HubOptions, Token) {
  const TemporaryFolder folder;
  folder.write("token", "  from-file\n");
  const auto other = folder.write("other", "from-other").string();
  set_only({{"HF_HOME", folder.path().string()}});
  EXPECT_EQ(hub_options_from_environment().token, "from-file");
  set_only({{"HF_HOME", folder.path().string()}, {"HF_TOKEN_PATH", other}});
  EXPECT_EQ(hub_options_from_environment().token, "from-other");
  set_only({{"HF_HOME", folder.path().string()}, {"HF_TOKEN", "from-variable"}});
  EXPECT_EQ(hub_options_from_environment().token, "from-variable");
  set_only({{"HF_HOME", folder.path().string()}, {"HUGGING_FACE_HUB_TOKEN", "from-old-variable"}});
  EXPECT_EQ(hub_options_from_environment().token, "from-old-variable");
  set_only({{"HF_HOME", folder.path().string()}, {"HF_TOKEN", "x"}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}});
  EXPECT_EQ(hub_options_from_environment().token, "");
  set_only({{"HF_HOME", (folder.path() / "nothing").string()}});
  EXPECT_EQ(hub_options_from_environment().token, "");
}

TEST(HubOptions, ATokenIsOneWordAndIsNotShown) {
  set_only({{"HF_TOKEN", "secret\r\nX-Evil: 1"}});
  const std::string words = refusal(Errc::bad_input, [] { hub_options_from_environment(); });
  EXPECT_NE(words.find("HF_TOKEN"), std::string::npos) << words;
  EXPECT_EQ(words.find("secret"), std::string::npos) << words;
}

}  // namespace
}  // namespace conclave
