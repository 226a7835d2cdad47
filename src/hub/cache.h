#pragma once
// One model in the Hugging Face cache, whose layout other programs share:
//   models--org--name/refs/<revision>            the commit a branch or tag pointed to when it was last looked up
//   models--org--name/blobs/<etag>               the bytes, named by what the server calls them
//   models--org--name/snapshots/<commit>/<file>  a relative link to ../../blobs/<etag>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/model_id.h"

namespace conclave {

class ModelCache {
 public:
  ModelCache(const std::filesystem::path& hub_cache, const ModelId&);

  // The commit that the revision had when it was last looked up, or the revision itself where that is a commit.
  std::optional<std::string> commit_of(const std::string& revision) const;
  // Keeps it for later. A cache that cannot be written to (shared, read-only) is no error.
  void remember(const std::string& revision, const std::string& commit) const;

  std::filesystem::path snapshot(std::string_view commit) const { return folder_ / "snapshots" / commit; }
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  std::filesystem::path partial_blob(const std::string& etag) const { return folder_ / "blobs" / (etag + ".incomplete"); }
  std::filesystem::path lock(const std::string& etag) const { return locks_ / (etag + ".lock"); }

  // True when the file and its bytes are there.
  bool has(std::string_view commit, const std::string& file) const;
  // Makes the file a link to the blob. Throws Error{device}.
  void link(std::string_view commit, const std::string& file, const std::string& etag) const;

 private:
  std::filesystem::path folder_, locks_;
};

// What the snapshot lacks to be loaded: config.json, and, when they are needed, weights, or shards that its index names; empty when
// it is complete. Throws Error{corrupt} when the index cannot be read.
std::vector<std::string> missing_from(const std::filesystem::path& snapshot, bool weights);

}  // namespace conclave
