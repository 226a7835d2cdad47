#pragma once
// The name of a blob is a promise about its bytes: 64 hexadecimal digits are their SHA-256 (large files), 40 are the SHA-1 that
// git gives a file (small ones); other names promise nothing.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL

namespace conclave {

class BlobDigest {
 public:
  // `size`: of the whole blob, which git hashes too.
  BlobDigest(std::string_view blob_name, std::int64_t size);
  ~BlobDigest();
  BlobDigest(BlobDigest&&) noexcept;
  BlobDigest& operator=(BlobDigest&&) noexcept;

  void update(std::span<const std::byte>);
  // In hexadecimal; the blob's name where that promises nothing. Ends the digest: nothing may be added after it.
  std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st*) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;  // null: no promise
  std::string name_;
};

}  // namespace conclave
