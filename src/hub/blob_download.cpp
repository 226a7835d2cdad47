#include "hub/blob_download.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "base/in_quotes.h"
#include "base/log.h"
#include "conclave/error.h"
#include "hub/file_lock.h"
#include "hub/partial_file.h"
#include "hub/patience.h"
#include "hub/refusals.h"
#include "hub/shown.h"

namespace conclave {
namespace {

constexpr std::int64_t kProgress = std::int64_t{1} << 20;  // fewer bytes than this are no reason to be patient for longer

class IntoFile final : public BodySink {
 public:
  IntoFile(PartialFile& file, std::atomic<std::int64_t>& done) : file_(file), done_(done) {}

  void begin(const HttpReply& reply) override {
    if (reply.status == 200 && file_.length() > 0) file_.restart();  // the server does not know ranges
    if (reply.status == 206 && reply.content_range.rfind(fmt::format("bytes {}-", file_.length()), 0) != 0)
      throw Error(Errc::corrupt, fmt::format("asked for the bytes from {} on, the server sends {}", file_.length(),
                                             in_quotes(reply.content_range)));
    done_ = file_.length();
  }
  void take(std::span<const std::byte> bytes) override {
    file_.append(bytes);
    done_ = file_.length();
  }

 private:
  PartialFile& file_;
  std::atomic<std::int64_t>& done_;
};

class BlobDownload {
 public:
  BlobDownload(HttpClient& client, const ModelId& id, std::string address, const RemoteFile& file, const HubOptions& options,
               const StopFlag& stop)
      : client_(client),
        id_(id),
        file_(file),
        options_(options),
        stop_(stop),
        request_{std::move(address), false, 0, options.token} {}

  void fill(PartialFile& partial, std::atomic<std::int64_t>& done) {
    Patience patience(options_, stop_, fmt::format("fetching '{}' of model '{}'", file_.name, id_.name));
    IntoFile sink(partial, done);
    bool refused_range = false;
    while (!partial.whole()) {
      request_.from = partial.length();
      const HttpReply reply = client_.send(request_, sink);
      if (partial.whole()) return;
      if (reply.status == 416 && !refused_range) {
        refused_range = true;
        partial.restart();
      } else if (worth_retrying(reply) || reply.good()) {
        if (partial.length() - request_.from >= kProgress) patience.progress();
        patience.wait_after(reply);
      } else {
        throw refusal_of(reply, id_, file_.name, options_);
      }
    }
  }

 private:
  HttpClient& client_;
  const ModelId& id_;
  const RemoteFile& file_;
  const HubOptions& options_;
  const StopFlag& stop_;
  HttpRequest request_;
};

}  // namespace

void fetch_blob(HttpClient& client, const ModelId& id, const std::string& commit, const RemoteFile& file, const ModelCache& cache,
                const HubOptions& options, const StopFlag& stop, std::atomic<std::int64_t>& done) {
  const std::filesystem::path blob = cache.blob(file.etag);
  const FileLock lock(cache.lock(file.etag), stop);
  std::error_code unreadable;
  if (!std::filesystem::exists(blob, unreadable)) {
    try {
      PartialFile partial(cache.partial_blob(file.etag), file.etag, file.size, stop);
      done = partial.length();
      BlobDownload(client, id, address_of(id, commit, file.name, options), file, options, stop).fill(partial, done);
      partial.publish(blob);
    } catch (const Error& error) {
      if (error.code() == Errc::busy)
        throw Error(Errc::busy, fmt::format("{}; what has been fetched is kept, and the next start goes on from it", error.what()));
      if (error.code() != Errc::corrupt) throw;
      throw error.with_context(fmt::format("'{}' of model '{}' at {}", file.name, id.name, shown_address(options.endpoint)));
    }
  }
  done = file.size;
}

}  // namespace conclave
