#include "io/file_set.h"

#include <gtest/gtest.h>

#include "tests/io/refusal.h"
#include "tests/io/temporary_folder.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

TEST(FileName, PlainOnes) {
  for (std::string_view good : {"a", "model-00001-of-00003.safetensors", "..a", "a..b", ".hidden", "ä b"})
    EXPECT_TRUE(is_plain_file_name(good)) << good;
  for (std::string_view bad :
       {std::string_view(""), std::string_view("."), std::string_view(".."), std::string_view("a/b"),
        std::string_view("/etc/passwd"), std::string_view("../x"), std::string_view("a\\b"), std::string_view("a\0b", 3)})
    EXPECT_FALSE(is_plain_file_name(bad)) << bad;
  EXPECT_TRUE(is_plain_file_name(std::string(255, 'a')));
  EXPECT_FALSE(is_plain_file_name(std::string(256, 'a')));
}

TEST(Folder, FindsFilesByName) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("b", "");
  fs::create_directory(folder.path() / "sub");
  const auto files = open_folder(folder.path());
  EXPECT_EQ(files->find("config.json")->text(), "{}");
  EXPECT_EQ(files->find("nothing"), nullptr);
  EXPECT_EQ(files->names(), (std::vector<std::string>{"b", "config.json"}));
  EXPECT_EQ(files->location(), folder.path().string());
  EXPECT_NE(refusal(Errc::corrupt, [&] { files->find("sub"); }).find("not a regular file"), std::string::npos);
}

TEST(FileSets, GiveTheHeadsOfFiles) {
  const TemporaryFolder folder;
  folder.write("f", "abcdef");
  const std::string_view bytes = "abcdef";
  const auto inside = embedded_files("e", {{"f", std::as_bytes(std::span(bytes))}}), outside = open_folder(folder.path());
  for (const FileSet* files : {inside.get(), outside.get()}) {
    const auto head = files->head("f", 2);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->bytes, (std::vector{std::byte{'a'}, std::byte{'b'}}));
    EXPECT_EQ(head->file_bytes, 6u);
    EXPECT_EQ(head->name, files->find("f")->name());
    EXPECT_FALSE(files->head("g", 2));
    refusal(Errc::corrupt, [&] { files->head("../f", 2); });
  }
}

TEST(Folder, RefusesNamesThatLeaveIt) {
  const TemporaryFolder folder;
  const auto files = open_folder(folder.path());
  for (std::string_view bad : {"../x", "..", "/etc/passwd", "sub/x", ""})
    EXPECT_NE(refusal(Errc::corrupt, [&] { files->find(bad); }).find("not a plain file name"), std::string::npos) << bad;
}

TEST(Folder, FollowsLinksAsHubCachesUseThem) {
  const TemporaryFolder cache;
  fs::create_directories(cache.path() / "blobs");
  fs::create_directories(cache.path() / "snapshots" / "abc");
  cache.write("blobs/0123", "weights");
  const auto snapshot = cache.path() / "snapshots" / "abc";
  fs::create_symlink("../../blobs/0123", snapshot / "model.safetensors");
  fs::create_symlink("../../blobs/4567", snapshot / "gone.safetensors");
  const auto files = open_folder(snapshot);
  EXPECT_EQ(files->find("model.safetensors")->text(), "weights");
  EXPECT_EQ(files->names(), (std::vector<std::string>{"model.safetensors"}));
  const std::string words = refusal(Errc::not_found, [&] { files->find("gone.safetensors"); });
  EXPECT_NE(words.find("../../blobs/4567"), std::string::npos) << words;
}

TEST(Folder, MustBeAFolder) {
  const TemporaryFolder folder;
  EXPECT_NE(refusal(Errc::not_found, [&] { open_folder(folder.path() / "none"); }).find("there is no folder"), std::string::npos);
  const auto file = folder.write("file", "x");
  EXPECT_NE(refusal(Errc::not_found, [&] { open_folder(file); }).find("is not a folder"), std::string::npos);
}

TEST(Embedded, FindsFilesByName) {
  const auto files = embedded_files("tiny", {{"tokenizer.json", bytes_of("[]")}, {"config.json", bytes_of("{}")}});
  EXPECT_EQ(files->find("config.json")->text(), "{}");
  EXPECT_EQ(files->find("config.json")->name(), "embedded:tiny/config.json");
  EXPECT_EQ(files->find("tokenizer.json")->text(), "[]");
  EXPECT_EQ(files->find("model.safetensors"), nullptr);
  EXPECT_EQ(files->names(), (std::vector<std::string>{"config.json", "tokenizer.json"}));
  EXPECT_EQ(files->location(), "embedded:tiny");
  refusal(Errc::corrupt, [&] { files->find("../config.json"); });
}

}  // namespace
}  // namespace conclave
