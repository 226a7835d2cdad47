#include "checkpoint/safetensors_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "checkpoint/safetensors_dtype.h"
#include "tests/checkpoint/safetensors_bytes.h"
#include "tests/io/refusal.h"

namespace conclave {
namespace {

const std::filesystem::path kData = std::filesystem::path(CONCLAVE_SOURCE_DIR) / "tests/data";

// Made by the reference implementation; see make_goldens.py.
TEST(SafetensorsFile, ReadsWhatTheReferenceWrote) {
  const SafetensorsFile file(MappedFile::open(kData / "safetensors/reference.safetensors"));
  EXPECT_EQ(file.tensors().size(), 19u);
  constexpr std::pair<const char*, DType> kTypes[] = {
      {"t.u64", DType::u64},       {"t.i64", DType::i64},       {"t.f64", DType::f64},       {"t.u32", DType::u32},
      {"t.i32", DType::i32},       {"t.f32", DType::f32},       {"t.u16", DType::u16},       {"t.i16", DType::i16},
      {"t.f16", DType::f16},       {"t.bf16", DType::bf16},     {"t.u8", DType::u8},         {"t.i8", DType::i8},
      {"t.f8e4m3", DType::f8e4m3}, {"t.f8e5m2", DType::f8e5m2}, {"t.f8e8m0", DType::f8e8m0}, {"t.bool", DType::boolean}};
  for (const auto& [name, dtype] : kTypes) {
    const auto tensor = file.find(name);
    ASSERT_TRUE(tensor) << name;
    EXPECT_EQ(tensor->dtype, dtype) << name;
    EXPECT_EQ(tensor->shape, (Shape{3, 5})) << name;
    for (std::int64_t i = 0; i < tensor->bytes(); ++i)
      ASSERT_EQ(std::to_integer<int>(tensor->data[i]), i % (dtype == DType::boolean ? 2 : 7)) << name << " byte " << i;
  }
  EXPECT_EQ(*file.find("scalar")->as<float>(), 1.5f);
  EXPECT_EQ(file.find("scalar")->shape.rank(), 0);
  EXPECT_EQ(file.find("empty")->bytes(), 0);
  const auto four = file.find("rank 4 \"\\ \xc3\xa9");
  ASSERT_TRUE(four);
  EXPECT_EQ(four->shape, (Shape{1, 2, 3, 4}));
  EXPECT_EQ(four->as<std::int32_t>()[23], 23);
  EXPECT_FALSE(file.find("t.u6"));
  EXPECT_FALSE(file.find("t.u644"));
  EXPECT_FALSE(file.find(""));
}

class InMemory {
 public:
  InMemory(std::string_view header, std::size_t data_bytes)
      : bytes_(safetensors_bytes(header, data_bytes)), file_(MappedFile::from_memory(bytes_, "m")) {}
  const SafetensorsFile& operator*() const { return file_; }
  const SafetensorsFile* operator->() const { return &file_; }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  SafetensorsFile file_;
};

TEST(SafetensorsFile, B115_TypesWithoutAViewAreRefusedWhenNeeded) {
  for (const char* dtype : {"F4", "F6_E2M3", "F6_E3M2", "F8_E4M3FNUZ", "I2", "", "f32"}) {
    const std::string shape = std::string_view(dtype) == "F4" ? "[8]" : std::string_view(dtype).starts_with("F6") ? "[16]" : "[4]";
    const std::string bytes = std::string_view(dtype).starts_with("F6") ? "12" : "4";
    const InMemory file("{" + entry("x", dtype, shape, "[0," + bytes + "]") + "}", static_cast<std::size_t>(std::stoi(bytes)));
    const std::string words = refusal(Errc::unsupported, [&] { file->find("x"); });
    EXPECT_NE(words.find("'" + std::string(dtype) + "'"), std::string::npos) << words;
  }
}

TEST(SafetensorsFile, MoreThanFourDimensionsAreRefusedWhenNeeded) {
  const InMemory file("{" + entry("five", "U8", "[1,1,1,1,2]", "[0,2]") + "," + entry("four", "U8", "[1,1,1,1]", "[2,3]") + "}", 3);
  EXPECT_EQ(file->find("four")->shape.rank(), 4);
  EXPECT_NE(refusal(Errc::unsupported, [&] { file->find("five"); }).find("5 dimensions"), std::string::npos);
}

TEST(SafetensorsFile, AlignedTensorsStayInPlace) {
  std::string header = "{" + entry("x", "F32", "[2]", "[0,8]") + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const InMemory file(header, 8);
  const auto* data = file->find("x")->data;
  EXPECT_EQ(data, file.bytes().data() + file.bytes().size() - 8);
}

TEST(SafetensorsFile, MisalignedTensorsAreCopiedOnce) {
  for (std::size_t spaces = 0; spaces < 8; ++spaces) {
    const InMemory file("{" + entry("b", "U8", "[1]", "[0,1]") + "," + entry("e", "I64", "[0]", "[1,1]") + "," +
                            entry("x", "F64", "[2]", "[1,17]") + "}" + std::string(spaces, ' '),
                        17);
    const auto tensor = file->find("x");
    ASSERT_TRUE(tensor);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data) % 8, 0u);
    EXPECT_EQ(std::memcmp(tensor->data, file.bytes().data() + file.bytes().size() - 16, 16), 0);
    EXPECT_EQ(file->find("x")->data, tensor->data);
    EXPECT_EQ(file->find("e")->bytes(), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file->find("e")->data) % 8, 0u);
    EXPECT_EQ(std::to_integer<int>(*file->find("b")->data), 0);
  }
}

TEST(SafetensorsFile, RefusesABrokenFileByName) {
  const Bytes bytes = bytes_of("not a safetensors file");
  EXPECT_NE(refusal(Errc::corrupt, [&] { SafetensorsFile(MappedFile::from_memory(bytes, "folder/a.safetensors")); })
                .find("folder/a.safetensors"),
            std::string::npos);
}

TEST(SafetensorsDType, NamesAndWidthsAgreeWithOurTypes) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    const SafetensorsDType* found = find_safetensors_dtype(safetensors_name(dtype));
    ASSERT_NE(found, nullptr) << to_string(dtype);
    EXPECT_EQ(found->held, dtype);
    EXPECT_EQ(found->bits, 8 * size_of(dtype));
  }
  EXPECT_EQ(find_safetensors_dtype("bf16"), nullptr);
}

}  // namespace
}  // namespace conclave
