// Headers from hostile hands. What the reference implementation (0.8.0) does with the same bytes is noted where we differ.
#include "checkpoint/safetensors_header.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/checkpoint/safetensors_bytes.h"
#include "tests/io/refusal.h"

namespace conclave {
namespace {

std::vector<SafetensorsTensor> read(const Bytes& file) { return read_safetensors_header(file, "f"); }

std::vector<SafetensorsTensor> accepted(const std::string& entries, std::size_t data_bytes) {
  return read(safetensors_bytes("{" + entries + "}", data_bytes));
}

std::string refused(const std::string& entries, std::size_t data_bytes) {
  return refusal(Errc::corrupt, [&] { accepted(entries, data_bytes); });
}

void expect_refused(const std::string& entries, std::size_t data_bytes, std::string_view words) {
  const std::string all = refused(entries, data_bytes);
  EXPECT_NE(all.find(words), std::string::npos) << "expected '" << words << "' in: " << all;
}

TEST(SafetensorsHeader, ReadsTensorsSortedByName) {
  const auto tensors = accepted(R"("__metadata__":{"format":"pt"},)" + entry("b", "F32", "[2,1]", "[0,8]") + "," +
                                    entry("a", "U8", "[3]", "[8,11]") + "," + entry("s", "BF16", "[]", "[11,13]"),
                                13);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, "U8");
  EXPECT_EQ(tensors[0].bytes, 3u);
  EXPECT_EQ(tensors[1].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(tensors[1].offset + 8, tensors[0].offset);
  EXPECT_TRUE(tensors[2].shape.empty());
  EXPECT_EQ(tensors[2].bytes, 2u);
}

TEST(SafetensorsHeader, EmptyHeaderAndEmptyTensors) {
  EXPECT_TRUE(accepted("", 0).empty());
  EXPECT_TRUE(accepted(R"("__metadata__":null)", 0).empty());
  EXPECT_EQ(accepted(entry("x", "U8", "[0]", "[0,0]") + "," + entry("y", "F32", "[0,1000]", "[0,0]"), 0).size(), 2u);
  EXPECT_EQ(accepted(entry("x", "U8", "[4]", "[0,4]") + "," + entry("y", "F32", "[5,0]", "[4,4]"), 4).size(), 2u);
}

TEST(SafetensorsHeader, B112_LengthIsBounded) {
  const std::string whole = safetensors_text("{" + entry("x", "U8", "[4]", "[0,4]") + "}", 4);
  EXPECT_EQ(read(bytes_of(whole)).size(), 1u);
  const auto with_length = [&](std::uint64_t length) { return bytes_of(little_endian(length) + whole.substr(8)); };
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{7}, whole.size() - 8 + 1, whole.size(), std::uint64_t{1} << 63,
                                     ~std::uint64_t{0}, ~std::uint64_t{0} - 7, std::uint64_t{1} << 32, std::uint64_t{100'000'001}})
    refusal(Errc::corrupt, [&] { read(with_length(length)); });
  for (std::size_t size = 0; size < 8; ++size) refusal(Errc::corrupt, [&] { read(bytes_of(whole.substr(0, size))); });
  refusal(Errc::corrupt, [&] { read({}); });
}

TEST(SafetensorsHeader, TheHeaderMustBeOneJsonObject) {
  for (const char* header :
       {"", "[]", "7", "null", "{", "{}{}", "{},", "{\"x\"}", "\xff", "{\"x\":1}", "{\"x\":[]}", "{\"x\":null}"})
    refusal(Errc::corrupt, [&] { read(safetensors_bytes(header, 0)); });
  refusal(Errc::corrupt, [&] { read(safetensors_bytes(std::string_view("{}\0\0\0\0\0\0", 8), 0)); });
  EXPECT_TRUE(read(safetensors_bytes("{}      ", 0)).empty());
  EXPECT_TRUE(read(safetensors_bytes("  {}", 0)).empty());
  refusal(Errc::corrupt, [&] { read(safetensors_bytes(std::string(1000000, '['), 0)); });
  refusal(Errc::corrupt, [&] { read(safetensors_bytes(R"({"x":{"dtype":"U8","shape":[[0]],"data_offsets":[0,0]}})", 0)); });
}

TEST(SafetensorsHeader, DuplicateNamesAreRefused) {  // the reference takes the last one
  expect_refused(entry("x", "U8", "[1]", "[0,1]") + "," + entry("x", "U8", "[1]", "[0,1]"), 1, "the key 'x' appears twice");
  expect_refused(R"("x":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]})", 1, "the key 'dtype' appears twice");
}

TEST(SafetensorsHeader, FieldsAreChecked) {
  constexpr std::string_view kShape = "expected a list of numbers from 0 to 2^63-1 as shape";
  constexpr std::string_view kOffsets = "expected two numbers as data_offsets";
  expect_refused(R"("x":{"shape":[1],"data_offsets":[0,1]})", 1, "expected a string as dtype");
  expect_refused(R"("x":{"dtype":8,"shape":[1],"data_offsets":[0,1]})", 1, "expected a string as dtype");
  expect_refused(R"("x":{"dtype":"U8","data_offsets":[0,1]})", 1, kShape);
  for (const char* shape : {"[-1]", "[1.0]", "[\"1\"]", "{}", "1", "null", "[9223372036854775808]", "[1e0]", "[true]"})
    expect_refused(entry("x", "U8", shape, "[0,1]"), 1, kShape);
  expect_refused(R"("x":{"dtype":"U8","shape":[1]})", 1, kOffsets);
  for (const char* offsets : {"[0]", "[0,1,2]", "[-1,0]", "[0,1.0]", "{}", "null", "[0,null]", "[0,18446744073709551616]"})
    expect_refused(entry("x", "U8", "[1]", offsets), 1, kOffsets);
  expect_refused(R"("__metadata__":{"a":1})", 0, "'__metadata__' is not an object of strings");
  expect_refused(R"("__metadata__":"a")", 0, "'__metadata__' is not an object of strings");
  EXPECT_EQ(accepted(R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"note":true})", 1).size(), 1u);
}

TEST(SafetensorsHeader, RangesLieInTheFile) {
  for (const char* offsets : {"[0,2]", "[1,0]", "[2,2]", "[0,9223372036854775808]", "[18446744073709551615,18446744073709551615]",
                              "[18446744073709551608,1]"})
    expect_refused(entry("x", "U8", "[1]", offsets), 1, "do not lie in the 1 bytes of data");
}

TEST(SafetensorsHeader, TensorsFillTheDataWithoutOverlap) {
  expect_refused(entry("x", "U8", "[2]", "[1,3]"), 3, "tensor 'x': 1 bytes before it belong to no tensor");
  expect_refused(entry("x", "U8", "[2]", "[0,2]"), 3, "the last 1 bytes of the file belong to no tensor");
  expect_refused("", 3, "the last 3 bytes");
  expect_refused(entry("x", "U8", "[2]", "[0,2]") + "," + entry("y", "U8", "[2]", "[0,2]"), 2,
                 "overlaps the tensor before it by 2 bytes");
  expect_refused(entry("x", "U8", "[4]", "[0,4]") + "," + entry("y", "U8", "[2]", "[1,3]"), 4, "tensor 'y': overlaps");
  expect_refused(entry("x", "U8", "[4]", "[0,4]") + "," + entry("y", "F32", "[0]", "[2,2]"), 4, "tensor 'y': overlaps");
}

TEST(SafetensorsHeader, B112_ShapeAndRangeAgree) {
  expect_refused(entry("x", "F32", "[32,8]", "[0,65536]"), 65536, "shape [32, 8] of F32 takes 1024 bytes, data_offsets hold 65536");
  expect_refused(entry("x", "F32", "[8]", "[0,4]"), 4, "takes 32 bytes, data_offsets hold 4");
  expect_refused(entry("x", "F32", "[]", "[0,8]"), 8, "shape [] of F32 takes 4 bytes, data_offsets hold 8");
  expect_refused(entry("x", "U8", "[0]", "[0,1]"), 1, "takes 0 bytes, data_offsets hold 1");
}

TEST(SafetensorsHeader, B112_ProductsDoNotWrap) {
  constexpr std::string_view kWords = "does not fit in 63 bits";
  expect_refused(entry("x", "F32", "[8589934592,8589934592]", "[0,4]"), 4, kWords);    // 2^33 * 2^33
  expect_refused(entry("x", "U8", "[4294967296,4294967296]", "[0,0]"), 0, kWords);     // 2^64, which wraps to 0
  expect_refused(entry("x", "F64", "[2305843009213693952]", "[0,0]"), 0, kWords);      // 2^61 * 8 bytes
  expect_refused(entry("x", "F32", "[4611686018427387904,8,0]", "[0,0]"), 0, kWords);  // 2^62 * 8, though empty
  expect_refused(entry("x", "F32", "[0,4611686018427387904,8]", "[0,0]"), 0, kWords);  // the reference takes this one
  expect_refused(entry("x", "WHAT", "[4294967296,4294967296]", "[0,0]"), 0, kWords);
}

TEST(SafetensorsHeader, B115_EveryTypeHasItsWidth) {
  const std::pair<const char*, const char*> kTwelve[] = {
      {"BOOL", "[12]"},    {"U8", "[12]"},          {"I8", "[12]"},          {"F8_E4M3", "[12]"}, {"F8_E5M2", "[12]"},
      {"F8_E8M0", "[12]"}, {"F8_E4M3FNUZ", "[12]"}, {"F8_E5M2FNUZ", "[12]"}, {"I16", "[6]"},      {"U16", "[6]"},
      {"F16", "[6]"},      {"BF16", "[6]"},         {"I32", "[3]"},          {"U32", "[3]"},      {"F32", "[3]"},
      {"F4", "[24]"},      {"F4", "[2,12]"},        {"F6_E2M3", "[16]"},     {"F6_E3M2", "[4,4]"}};
  for (const auto& [dtype, shape] : kTwelve) {
    EXPECT_EQ(accepted(entry("x", dtype, shape, "[0,12]"), 12).size(), 1u) << dtype;
    expect_refused(entry("x", dtype, shape, "[0,13]"), 13, "takes 12 bytes, data_offsets hold 13");
  }
  for (const char* dtype : {"F64", "I64", "U64", "C64"}) {
    EXPECT_EQ(accepted(entry("x", dtype, "[2]", "[0,16]"), 16).size(), 1u) << dtype;
    expect_refused(entry("x", dtype, "[2]", "[0,15]"), 15, "takes 16 bytes");
  }
  expect_refused(entry("x", "F4", "[3]", "[0,2]"), 2, "shape [3] of F4 does not end at a byte");
  expect_refused(entry("x", "F6_E2M3", "[3]", "[0,3]"), 3, "does not end at a byte");
}

TEST(SafetensorsHeader, B115_UnknownTypesStillHaveTheirRangeChecked) {
  for (const char* dtype : {"I2", "", "f32", "F4_E2M1", "BF16 "}) {
    EXPECT_EQ(accepted(entry("x", dtype, "[4]", "[0,1]"), 1).size(), 1u) << dtype;
    expect_refused(entry("x", dtype, "[4]", "[0,2]"), 1, "do not lie in");
    expect_refused(entry("x", dtype, "[4]", "[0,1]"), 2, "the last 1 bytes");
  }
}

TEST(SafetensorsHeader, AllProblemsAtOnceAndBounded) {
  const std::string words = refused(entry("a", "F32", "[2]", "[0,4]") + "," + entry("b", "U8", "[-1]", "[0,1]") + "," +
                                        entry("c", "U8", "[1]", "[5,1]") + R"(,"d\u001b[31m":3)",
                                    4);
  EXPECT_NE(words.find("4 problems"), std::string::npos) << words;
  for (const char* name : {"tensor 'a'", "tensor 'b'", "tensor 'c'", "tensor 'd\\x1b[31m'"})
    EXPECT_NE(words.find(name), std::string::npos) << words;

  std::string many;
  for (int i = 0; i < 5000; ++i) many += (i != 0 ? ",\"x" : "\"x") + std::to_string(i) + "\":0";
  const std::string told = refused(many, 0);
  EXPECT_NE(told.find("5000 problems"), std::string::npos);
  EXPECT_NE(told.find("and 4980 more"), std::string::npos);
  EXPECT_LT(told.size(), 4000u);
}

// Whatever happens to the bytes: a refusal, or tensors that lie in the file.
void read_or_refuse(const Bytes& file, std::size_t& read_count) {
  try {
    for (const SafetensorsTensor& tensor : read(file)) {
      ASSERT_LE(tensor.offset, file.size());
      ASSERT_LE(tensor.bytes, file.size() - tensor.offset);
    }
    ++read_count;
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), Errc::corrupt) << error.what();
  }
}

TEST(SafetensorsHeader, EveryByteChangedAndEveryLength) {
  const std::string whole = safetensors_text(R"({"__metadata__":{"f":"pt"},)" + entry("w", "BF16", "[2,3]", "[0,12]") + "," +
                                                 entry("s", "F8_E4M3", "[4]", "[12,16]") + "}",
                                             16);
  std::size_t taken = 0;
  read_or_refuse(bytes_of(whole), taken);
  ASSERT_EQ(taken, 1u);
  for (std::size_t length = 0; length < whole.size(); ++length) read_or_refuse(bytes_of(whole.substr(0, length)), taken);
  EXPECT_EQ(taken, 1u) << "a file cut short was taken";
  const std::size_t header_end = whole.size() - 16;
  for (std::size_t i = 0; i < header_end; ++i)
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[i] = static_cast<char>(value);
      read_or_refuse(bytes_of(changed), taken);
    }
  EXPECT_GT(taken, header_end);            // each byte as it was, and other names
  EXPECT_LT(taken, header_end * 256 / 4);  // most changes are noticed
}

}  // namespace
}  // namespace conclave
