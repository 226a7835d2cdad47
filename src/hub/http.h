#pragma once
// One HTTP request over libcurl, with the rules a download needs: the token goes to the host it is meant for and to no other, a
// secure address never leads to an insecure one, and the body goes to a sink as it arrives.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hub/options.h"
#include "hub/stop.h"

namespace conclave {

struct HttpRequest {
  std::string url;
  bool head = false;      // headers only
  std::int64_t from = 0;  // ask for the bytes from here on, by a Range header
  std::string token;      // sent to the origin (scheme, host, port) of `url` only
};

struct HttpReply {
  int status = 0;          // 0: there was no answer
  std::string failure;     // why the connection failed or was cut; empty when the answer is whole
  bool lasting = false;    // trying again would fail the same way (certificate, address)
  bool unreached = false;  // the name of the host, or of the proxy, has no address, or nobody listens there
  std::string url;         // the last one, after redirects
  bool elsewhere = false;  // that one is of another origin than the request's: a storage host
  std::optional<std::chrono::seconds> retry_after;
  // Headers of the last answer; empty when absent.
  std::string etag, linked_etag, linked_size, content_length, content_range, commit, error_code, error_message;

  bool good() const noexcept { return failure.empty() && (status == 200 || status == 206); }
};

class BodySink {
 public:
  virtual ~BodySink() = default;
  // Before the first byte of an answer with status 200 or 206; bodies of other answers are dropped.
  virtual void begin(const HttpReply&) = 0;
  virtual void take(std::span<const std::byte>) = 0;
};

class HttpClient {
 public:
  HttpClient(const HubOptions&, const StopFlag&);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Follows redirects; a HEAD stops at the first answer that says what it leads to (X-Linked-Etag). Throws Error{cancelled}, and
  // what the sink throws.
  HttpReply send(const HttpRequest&, BodySink&);

 private:
  struct Transfer;
  HttpReply send_once(const HttpRequest&, const std::string& url, bool with_token, BodySink&);

  const HubOptions& options_;
  const StopFlag& stop_;
  void* curl_;  // CURL*: its connections are used again
};

// Whether libcurl can ask at this address at all.
bool is_address(const std::string& url);

// `text` as one part of a path of an address: all but letters, digits and -._~ as %XX.
std::string url_escaped(const std::string& text);

}  // namespace conclave
