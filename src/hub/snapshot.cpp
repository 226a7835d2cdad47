#include "hub/snapshot.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "conclave/error.h"
#include "hub/blob_download.h"
#include "hub/byte_count.h"
#include "hub/crew.h"
#include "hub/http.h"
#include "hub/shown.h"
#include "hub/stop.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kSpareBytes = std::uintmax_t{64} << 20;  // folders, links, other programs

std::uintmax_t free_bytes(const fs::path& folder) {
  fs::path there = fs::absolute(folder);
  std::error_code failed;
  while (!fs::exists(there, failed) && there.has_relative_path()) there = there.parent_path();
  const fs::space_info space = fs::space(there, failed);
  return failed ? std::numeric_limits<std::uintmax_t>::max() : space.available;  // writing will tell
}

std::int64_t bytes_there(const fs::path& partial) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(partial, failed);
  return failed ? 0 : static_cast<std::int64_t>(size);
}

class SnapshotDownload {
 public:
  SnapshotDownload(const ModelId& id, const Listing& listing, const ModelCache& cache, const HubOptions& options)
      : id_(id), commit_(listing.commit), cache_(cache), options_(options) {
    for (int i = 0; i < std::max(options.parallel_files, 1); ++i) clients_.push_back(std::make_unique<HttpClient>(options, stop_));
  }

  void run(const std::vector<std::string>& names) {
    describe(names);
    check_space();
    fetch();
  }

 private:
  struct Item {
    RemoteFile file;
    std::int64_t before = 0;
    std::atomic<std::int64_t> done{0};
  };

  void describe(const std::vector<std::string>& names) {
    items_ = std::vector<Item>(names.size());
    together(
        [&](HttpClient& client, std::size_t i) {
          Item& item = items_[i];
          item.file = fetch_description(client, id_, commit_, names[i], options_, stop_);
          std::error_code unreadable;
          const bool whole = fs::exists(cache_.blob(item.file.etag), unreadable);
          item.before = whole ? item.file.size : std::min(bytes_there(cache_.partial_blob(item.file.etag)), item.file.size);
          item.done = item.before;
        },
        [this] { check_cancelled(); });
  }

  void check_space() const {
    std::uintmax_t needed = 0;
    std::set<std::string> counted;
    for (const Item& item : items_)
      if (counted.insert(item.file.etag).second) needed += static_cast<std::uintmax_t>(item.file.size - item.before);
    const std::uintmax_t free = options_.free_space ? options_.free_space(options_.cache) : free_bytes(options_.cache);
    if (needed == 0 || needed + kSpareBytes <= free) return;
    throw Error(Errc::device, fmt::format("no room for model '{}': {} are still to be fetched and {} has {} free; free some space, "
                                          "or set HF_HUB_CACHE to a folder on a larger disk",
                                          id_.name, byte_count(needed), shown_path(options_.cache), byte_count(free)));
  }

  void fetch() {
    const auto report = [this] {
      check_cancelled();
      if (options_.progress) options_.progress(progress());
    };
    together(
        [&](HttpClient& client, std::size_t i) {
          Item& item = items_[i];
          fetch_blob(client, id_, commit_, item.file, cache_, options_, stop_, item.done);
          cache_.link(commit_, item.file.name, item.file.etag);
        },
        report);
    report();
  }

  template <class Task, class Tick>
  void together(const Task& task, const Tick& tick) {
    run_together(
        items_.size(), static_cast<int>(clients_.size()), stop_,
        [&](int worker, std::size_t i) { task(*clients_[static_cast<std::size_t>(worker)], i); }, tick);
  }

  void check_cancelled() const {
    if (!options_.cancelled || !options_.cancelled()) return;
    throw Error(Errc::cancelled,
                fmt::format("the download of model '{}' was stopped; what has been fetched is kept, and the next start "
                            "goes on from it",
                            id_.name));
  }

  DownloadProgress progress() const {
    DownloadProgress out;
    for (const Item& item : items_) {
      out.files.push_back({item.file.name, item.done, item.file.size});
      out.done += out.files.back().done;
      out.total += item.file.size;
      out.already += item.before;
    }
    return out;
  }

  const ModelId& id_;
  const std::string& commit_;
  const ModelCache& cache_;
  const HubOptions& options_;
  StopFlag stop_;
  std::vector<std::unique_ptr<HttpClient>> clients_;
  std::vector<Item> items_;
};

void check_loadable(const ModelId& id, const std::vector<std::string>& wanted, const HubOptions& options) {
  const auto has = [&](auto&& test) { return std::any_of(wanted.begin(), wanted.end(), test); };
  const bool config = has([](const std::string& name) { return name == "config.json"; });
  const bool weights =
      !options.weights || has([](const std::string& name) { return fs::path(name).extension() == ".safetensors"; });
  if (config && weights) return;
  throw Error(Errc::not_found,
              fmt::format("{}/{} at revision '{}' has no {}; expected a model in the transformers layout: config.json and "
                          "weights in .safetensors files (.bin, .pth and .gguf are not read)",
                          shown_address(options.endpoint), id.name, id.revision,
                          config    ? ".safetensors file"
                          : weights ? "config.json"
                                    : "config.json and no .safetensors file"));
}

}  // namespace

Listing look_up(const ModelId& id, const HubOptions& options) {
  StopFlag stop;
  HttpClient client(options, stop);
  Listing listing;
  run_together(
      1, 1, stop, [&](int, std::size_t) { listing = fetch_listing(client, id, options, stop); },
      [&] {
        if (options.cancelled && options.cancelled())
          throw Error(Errc::cancelled, fmt::format("looking up model '{}' was stopped", id.name));
      });
  return listing;
}

void fetch_snapshot(const ModelId& id, const Listing& listing, const ModelCache& cache, const HubOptions& options) {
  const std::vector<std::string> wanted = wanted_files(listing.files, options.weights);
  check_loadable(id, wanted, options);
  std::vector<std::string> absent;
  for (const std::string& name : wanted)
    if (!cache.has(listing.commit, name)) absent.push_back(name);
  if (absent.empty()) return;
  log::info("fetching {} of the {} files of model '{}' from {}", absent.size(), wanted.size(), id.name,
            shown_address(options.endpoint));
  SnapshotDownload(id, listing, cache, options).run(absent);
}

}  // namespace conclave
