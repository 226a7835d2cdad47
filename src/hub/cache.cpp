#include "hub/cache.h"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <system_error>

#include "base/in_quotes.h"
#include "base/log.h"
#include "conclave/error.h"
#include "hub/folders.h"
#include "hub/shown.h"
#include "io/file_set.h"
#include "io/json.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

constexpr char kIndexFile[] = "model.safetensors.index.json";

std::string folder_name(const ModelId& id) {
  std::string out = "models--";
  for (const char c : id.name) out += c == '/' ? std::string("--") : std::string(1, c);
  return out;
}

void write_whole(const fs::path& path, std::string_view text) {
  const fs::path temporary = path.parent_path() / fmt::format("{}.{}.tmp", path.filename().string(), ::getpid());
  std::ofstream out(temporary, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw Error(Errc::device, fmt::format("cannot write {}", shown_path(temporary)));
  fs::rename(temporary, path);
}

// Distinct shard names of the index.
std::set<std::string> shards_of(const MappedFile& index) {
  const Json json = parse_json(index.text(), index.name());
  std::set<std::string> out;
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object())
    throw Error(Errc::corrupt, fmt::format("'{}' has no object 'weight_map'", index.name()));
  for (const Json& shard : *map) {
    if (!shard.is_string() || !is_plain_file_name(shard.get_ref<const std::string&>()))
      throw Error(Errc::corrupt, fmt::format("'{}' names a shard {}, which is not a plain file name", index.name(),
                                             in_quotes(shard.dump(-1, ' ', false, Json::error_handler_t::replace))));
    out.insert(shard.get<std::string>());
  }
  return out;
}

}  // namespace

ModelCache::ModelCache(const fs::path& hub_cache, const ModelId& id)
    : folder_(hub_cache / folder_name(id)), locks_(hub_cache / ".locks" / folder_name(id)) {}

std::optional<std::string> ModelCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  std::ifstream file(folder_ / "refs" / revision, std::ios::binary);
  std::string word;
  file.width(64);
  if (!(file >> word) || !is_commit(word)) return std::nullopt;
  return word;
}

void ModelCache::remember(const std::string& revision, const std::string& commit) const {
  if (commit_of(revision) == commit) return;
  try {
    const fs::path path = folder_ / "refs" / revision;
    make_folders(path.parent_path());
    write_whole(path, commit);
  } catch (const std::exception& error) {
    log::warning("the commit of revision '{}' is not kept for later: {}", revision, error.what());
  }
}

bool ModelCache::has(std::string_view commit, const std::string& file) const {
  std::error_code ignored;
  return fs::is_regular_file(snapshot(commit) / file, ignored);
}

void ModelCache::link(std::string_view commit, const std::string& file, const std::string& etag) const {
  const fs::path path = snapshot(commit) / file;
  const fs::path target = fs::path("../../blobs") / etag;
  make_folders(path.parent_path());
  std::error_code failed;
  for (int tries = 0; tries < 2; ++tries) {
    fs::create_symlink(target, path, failed);
    if (!failed) return;
    std::error_code ignored;
    if (fs::read_symlink(path, ignored) == target) return;  // another process was faster
    fs::remove(path, ignored);                              // a link to what is gone
  }
  throw Error(Errc::device, fmt::format("cannot make the link {}: {}", shown_path(path), failed.message()));
}

std::vector<std::string> missing_from(const fs::path& snapshot, bool weights) {
  std::vector<std::string> missing;
  std::error_code ignored;
  const auto there = [&](const std::string& name) { return fs::is_regular_file(snapshot / name, ignored); };
  if (!there("config.json")) missing.emplace_back("config.json");
  if (!weights) return missing;
  if (there(kIndexFile)) {
    for (const std::string& shard : shards_of(*MappedFile::open(snapshot / kIndexFile)))
      if (!there(shard)) missing.push_back(shard);
  } else if (!there("model.safetensors")) {
    missing.emplace_back("model.safetensors");
  }
  return missing;
}

}  // namespace conclave
