#include "hub/model_source.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/in_quotes.h"
#include "base/log.h"
#include "base/nearest.h"
#include "conclave/error.h"
#include "hub/cache.h"
#include "hub/model_id.h"
#include "hub/shown.h"
#include "hub/snapshot.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFolders = 10'000;  // looked at for a similar name

// "; did you mean the folder 'x'?" or "".
std::string similar_folder(const fs::path& path) {
  const fs::path wanted = path.filename().empty() ? path.parent_path() : path;  // "models/x/"
  const fs::path parent = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(parent, failed), end; !failed && it != end && names.size() < kMostFolders; it.increment(failed)) {
    std::error_code unreadable;
    if (it->is_directory(unreadable)) names.push_back(it->path().filename().string());
  }
  const std::string leaf = wanted.filename().string();
  const std::string_view nearest = nearest_name(leaf, std::vector<std::string_view>(names.begin(), names.end()));
  if (nearest.empty()) return {};
  const fs::path found = wanted.has_parent_path() ? wanted.parent_path() / nearest : fs::path(nearest);
  return fmt::format("; did you mean the folder '{}'?", found.string());
}

bool exists(std::string_view spec) {
  std::error_code ignored;
  return !spec.empty() && spec.find('\0') == spec.npos && fs::exists(spec, ignored);
}

class HubModel {
 public:
  HubModel(ModelId id, const HubOptions& options) : id_(std::move(id)), options_(options), cache_(options.cache, id_) {
    if (const auto commit = cache_.commit_of(id_.revision)) {
      known_ = commit;
      missing_ = missing_from(cache_.snapshot(*commit), options.weights);
    }
  }

  std::unique_ptr<FileSet> open() const {
    // Without weights nothing tells that the tokenizer is there, so that a commit is looked up too.
    const bool settled = options_.offline || (is_commit(id_.revision) && options_.weights);
    if (is_complete() && settled) return open_folder(cache_.snapshot(*known_));
    if (options_.offline) throw Error(Errc::not_found, offline_words());
    const std::optional<Listing> listing = ask();
    if (!listing) return open_folder(cache_.snapshot(*known_));
    fetch_snapshot(id_, *listing, cache_, options_);
    cache_.remember(id_.revision, listing->commit);
    return open_folder(cache_.snapshot(listing->commit));
  }

 private:
  bool is_complete() const { return known_ && missing_.empty(); }

  // Nothing when the hub gives no answer and the cache has one.
  std::optional<Listing> ask() const {
    if (!is_complete()) return look_up(id_, options_);
    HubOptions once = options_;
    once.attempts = 1;
    try {
      return look_up(id_, once);
    } catch (const Error& error) {
      if (error.code() == Errc::cancelled) throw;
      log::warning("using the copy of model '{}' in the cache (commit {}) without knowing whether it is the newest: {}", id_.name,
                   *known_, error.what());
      return std::nullopt;
    }
  }

  std::string offline_words() const {
    const std::string end = fmt::format(
        ", and {0} is set, so it is not fetched; start once without {0}, or give another HF_HUB_CACHE", options_.offline_variable);
    if (!known_)
      return fmt::format("model '{}' (revision '{}') is not in the cache {}{}", id_.name, id_.revision, shown_path(options_.cache),
                         end);
    std::string names;
    for (std::size_t i = 0; i < missing_.size() && i < 3; ++i) names += (i == 0 ? "" : ", ") + in_quotes(missing_[i]);
    if (missing_.size() > 3) names += fmt::format(" and {} more", missing_.size() - 3);
    return fmt::format("model '{}' (revision '{}') is incomplete in the cache: {} lacks {}{}", id_.name, id_.revision,
                       shown_path(cache_.snapshot(*known_)), names, end);
  }

  ModelId id_;
  const HubOptions& options_;
  ModelCache cache_;
  std::optional<std::string> known_;  // the revision's commit, as far as the cache knows
  std::vector<std::string> missing_;  // from the snapshot of that commit
};

}  // namespace

std::unique_ptr<FileSet> resolve_model(std::string_view spec, const HubOptions& options) {
  const bool marked = spec.substr(0, kHubScheme.size()) == kHubScheme;
  if (!marked && exists(spec)) return open_folder(spec);
  const std::optional<ModelId> id = parse_model_id(spec);
  if (!id && marked)
    throw Error(Errc::bad_input,
                fmt::format("{} does not name a model of the hub: expected hf://org/name or hf://org/name@revision, of "
                            "letters, digits and . _ -",
                            in_quotes(spec)));
  const std::string hint = marked || spec.find('\0') != spec.npos ? std::string() : similar_folder(spec);
  if (!id)
    throw Error(Errc::not_found,
                fmt::format("there is no folder {}, and it is not the name of a model of the hub; expected a folder with "
                            "config.json and .safetensors files, or org/name or org/name@revision{}",
                            in_quotes(spec), hint));
  try {
    return HubModel(*id, options).open();
  } catch (const Error& error) {
    if (error.code() != Errc::not_found || hint.empty()) throw;
    throw Error(Errc::not_found, fmt::format("{} (and there is no local folder {}{})", error.what(), in_quotes(spec), hint));
  }
}

}  // namespace conclave
