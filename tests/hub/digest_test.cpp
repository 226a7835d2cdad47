#include "hub/digest.h"

#include <gtest/gtest.h>

namespace conclave {
namespace {

std::string digest(std::string_view kind, std::string_view text) {
  BlobDigest out(kind, static_cast<std::int64_t>(text.size()));
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  out.update(bytes.first(bytes.size() / 2));
  out.update(bytes.subspan(bytes.size() / 2));
  return out.finish();
}

// FIPS 180-2's example; `printf '...' | git hash-object --stdin`.
TEST(BlobDigest, KnownAnswers) {
  EXPECT_EQ(digest(std::string(64, '0'), "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest(std::string(64, '0'), ""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest(std::string(40, '0'), "hello world\n"), "3b18e512dba79e4c8300dd08aeb37f8e728b8dad");
  EXPECT_EQ(digest(std::string(40, '0'), ""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

TEST(BlobDigest, OtherNamesPromiseNothing) {
  EXPECT_EQ(digest("5d41402abc4b2a76b9719d911017c592-12", "abc"), "5d41402abc4b2a76b9719d911017c592-12");
}

}  // namespace
}  // namespace conclave
