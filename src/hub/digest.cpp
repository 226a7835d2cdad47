#include "hub/digest.h"

#include <openssl/evp.h>

#include <array>

#include "conclave/error.h"
#include "hub/model_id.h"

namespace conclave {
namespace {

// Only a library without the algorithm, or without memory, refuses.
void demand(int answer) {
  if (answer != 1) throw Error(Errc::device, "the OpenSSL library refused to compute a checksum");
}

}  // namespace

void BlobDigest::Free::operator()(evp_md_ctx_st* context) const noexcept { EVP_MD_CTX_free(context); }

BlobDigest::BlobDigest(std::string_view blob_name, std::int64_t size) : name_(blob_name) {
  const bool sha256 = is_hex(blob_name, 64);
  if (!sha256 && !is_hex(blob_name, 40)) return;
  context_.reset(EVP_MD_CTX_new());
  demand(context_ != nullptr ? 1 : 0);
  demand(EVP_DigestInit_ex(context_.get(), sha256 ? EVP_sha256() : EVP_sha1(), nullptr));
  if (sha256) return;
  const std::string header = "blob " + std::to_string(size);
  demand(EVP_DigestUpdate(context_.get(), header.c_str(), header.size() + 1));  // with its NUL
}

BlobDigest::~BlobDigest() = default;
BlobDigest::BlobDigest(BlobDigest&&) noexcept = default;
BlobDigest& BlobDigest::operator=(BlobDigest&&) noexcept = default;

void BlobDigest::update(std::span<const std::byte> bytes) {
  if (context_ != nullptr) demand(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string BlobDigest::finish() {
  if (context_ == nullptr) return name_;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  demand(EVP_DigestFinal_ex(context_.get(), digest.data(), &length));
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (unsigned i = 0; i < length; ++i) {
    out += kHex[digest[i] >> 4];
    out += kHex[digest[i] & 15];
  }
  return out;
}

}  // namespace conclave
