#include "io/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "tests/io/refusal.h"
#include "tests/io/temporary_folder.h"

namespace conclave {
namespace {

TEST(MappedFile, ShowsTheBytesAndThePath) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", std::string_view("ab\0\xff", 4));
  const auto file = MappedFile::open(path);
  EXPECT_EQ(file->text(), std::string_view("ab\0\xff", 4));
  EXPECT_EQ(file->bytes().size(), 4u);
  EXPECT_EQ(file->bytes()[3], std::byte{0xff});
  EXPECT_EQ(file->name(), path.string());
}

TEST(MappedFile, StaysReadableAfterTheFileIsUnlinked) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.bin", "content");
  const auto file = MappedFile::open(path);
  std::filesystem::remove(path);
  EXPECT_EQ(file->text(), "content");
}

TEST(MappedFile, EmptyFileIsAnEmptySpan) {
  const TemporaryFolder folder;
  EXPECT_TRUE(MappedFile::open(folder.write("empty", ""))->bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNotARegularFile) {
  const TemporaryFolder folder;
  EXPECT_NE(refusal(Errc::not_found, [&] { MappedFile::open(folder.path() / "none"); }).find("none"), std::string::npos);
  refusal(Errc::not_found, [&] { MappedFile::open(folder.write("file", "x") / "below"); });
  EXPECT_NE(refusal(Errc::corrupt, [&] { MappedFile::open(folder.path()); }).find("not a regular file"), std::string::npos);
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  refusal(Errc::corrupt, [&] { MappedFile::open(pipe); });  // and does not wait for a writer
}

TEST(MappedFile, PagesThatWereGivenBackAreReadAgain) {
  const TemporaryFolder folder;
  std::string content(1 << 20, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 4096);
  const auto file = MappedFile::open(folder.write("a.bin", content));
  touch_pages(file->bytes());
  file->give_back(file->bytes().subspan(5000, 100000));
  file->give_back({});
  EXPECT_EQ(file->text(), content);
}

TEST(ReadHead, GivesTheFirstBytesAndTheLength) {
  const TemporaryFolder folder;
  folder.write("f", "abcdef");
  const auto text = [&](std::size_t most) {
    const FileHead head = read_head(folder.path() / "f", most);
    EXPECT_EQ(head.file_bytes, 6u);
    EXPECT_EQ(head.name, (folder.path() / "f").string());
    return std::string(reinterpret_cast<const char*>(head.bytes.data()), head.bytes.size());
  };
  EXPECT_EQ(text(0), "");
  EXPECT_EQ(text(4), "abcd");
  EXPECT_EQ(text(600), "abcdef");
  refusal(Errc::not_found, [&] { read_head(folder.path() / "none", 1); });
  refusal(Errc::corrupt, [&] { read_head(folder.path(), 1); });
}

TEST(MappedFile, MemoryIsNeverGivenBack) {
  std::vector<std::byte> memory(1 << 20, std::byte{42});
  const auto file = MappedFile::from_memory(memory, "memory");
  touch_pages(file->bytes());
  file->give_back(file->bytes());
  EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{42}), 1 << 20);
}

TEST(MappedFile, LooksAtMemory) {
  static constexpr std::array<std::byte, 3> kBytes{std::byte{1}, std::byte{2}, std::byte{3}};
  const auto file = MappedFile::from_memory(kBytes, "embedded:x/a");
  EXPECT_EQ(file->bytes().data(), kBytes.data());
  EXPECT_EQ(file->name(), "embedded:x/a");
}

}  // namespace
}  // namespace conclave
