#include "checkpoint/safetensors_writer.h"

#include <gtest/gtest.h>

#include <array>

#include "checkpoint/safetensors_file.h"
#include "tests/io/refusal.h"
#include "tests/io/temporary_folder.h"

namespace conclave {
namespace {

// The reference implementation's own file is the judge: the same tensors must give the same bytes.
TEST(SafetensorsWriter, WritesTheSameBytesAsTheReference) {
  const auto golden = MappedFile::open(std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data/safetensors/reference.safetensors");
  const SafetensorsFile reference(golden);
  std::vector<NamedTensor> tensors;
  for (const SafetensorsTensor& tensor : reference.tensors()) tensors.push_back({tensor.name, reference.view(tensor)});
  ASSERT_EQ(tensors.size(), 19u);
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "written.safetensors", tensors);
  const auto written = MappedFile::open(folder.path() / "written.safetensors");
  EXPECT_TRUE(written->text() == golden->text());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "written.safetensors.unfinished"));
}

TEST(SafetensorsWriter, NoTensors) {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "empty", {});
  EXPECT_EQ(MappedFile::open(folder.path() / "empty")->text(),
            std::string_view("\x08\0\0\0\0\0\0\0{}      ", 16));  // as the reference's test
}

TEST(SafetensorsWriter, ReplacesAFileAndReadsBack) {
  const TemporaryFolder folder;
  const auto path = folder.write("logits.safetensors", "old");
  constexpr std::array<float, 6> kValues{1, 2, 3, 4, 5, -6.5f};
  write_safetensors(path, std::array{NamedTensor{"logits", {std::as_bytes(std::span(kValues)).data(), DType::f32, Shape{2, 3}}}});
  const SafetensorsFile file(MappedFile::open(path));
  EXPECT_EQ(file.find("logits")->shape, (Shape{2, 3}));
  EXPECT_EQ(file.find("logits")->as<float>()[5], -6.5f);
}

TEST(SafetensorsWriter, SaysWhereItCannotWrite) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "no such folder" / "x.safetensors";
  const std::string words = refusal(Errc::device, [&] { write_safetensors(path, {}); });
  EXPECT_NE(words.find("no such folder"), std::string::npos) << words;
  EXPECT_NE(words.find("No such file or directory"), std::string::npos) << words;
}

TEST(SafetensorsWriter, ReplacesRegularFilesOnly) {
  const TemporaryFolder folder;
  const auto device = folder.path() / "device";
  std::filesystem::create_symlink("/dev/null", device);
  for (const auto& path : {device, folder.path()}) {
    const std::string words = refusal(Errc::bad_input, [&] { write_safetensors(path, {}); });
    EXPECT_NE(words.find("is not a regular file"), std::string::npos) << words;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(device));
}

}  // namespace
}  // namespace conclave
