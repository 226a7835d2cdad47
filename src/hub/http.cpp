#include "hub/http.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>

#include "base/in_quotes.h"
#include "conclave/error.h"

namespace conclave {
namespace {

constexpr int kMostRedirects = 8;
constexpr std::size_t kMostDropped = std::size_t{1} << 20;  // of the body of a refusal
constexpr std::size_t kLongestHeader = 1024;

CURL* new_handle() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  CURL* handle = curl_easy_init();
  if (handle == nullptr) throw std::bad_alloc();
  return handle;
}

std::string header(CURL* curl, const char* name) {
  curl_header* found = nullptr;
  if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK) return {};
  return std::string(std::string_view(found->value).substr(0, kLongestHeader));
}

void read_headers(CURL* curl, HttpReply& reply) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  reply.status = static_cast<int>(status);
  reply.etag = header(curl, "ETag");
  reply.linked_etag = header(curl, "X-Linked-Etag");
  reply.linked_size = header(curl, "X-Linked-Size");
  reply.content_length = header(curl, "Content-Length");
  reply.content_range = header(curl, "Content-Range");
  reply.commit = header(curl, "X-Repo-Commit");
  reply.error_code = header(curl, "X-Error-Code");
  reply.error_message = header(curl, "X-Error-Message");
  curl_off_t wait = 0;
  if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0) reply.retry_after = std::chrono::seconds(wait);
}

// "scheme://host:port" with the port always there; empty when the address is malformed.
std::string origin_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), &curl_url_cleanup);
  if (parsed == nullptr || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  std::string out;
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
    out += std::string(out.empty() ? "" : part == CURLUPART_HOST ? "://" : ":") + text;
    curl_free(text);
  }
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

bool is_lasting(CURLcode code) {
  for (const CURLcode one : {CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_PEER_FAILED_VERIFICATION,
                             CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_FAILED_INIT})
    if (code == one) return true;
  return false;
}

std::string words_of(CURLcode code, const char* details) {
  std::string words = *details != '\0' ? details : curl_easy_strerror(code);
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
    words += " (are the certificates of your system installed? Debian's package is ca-certificates)";
  return words;
}

}  // namespace

// What the callbacks of one request share. No exception may pass through libcurl's frames, so they are kept here.
struct HttpClient::Transfer {
  CURL* curl;
  BodySink& sink;
  const StopFlag& stop;
  HttpReply& reply;
  bool begun = false;
  std::size_t dropped = 0;
  std::exception_ptr thrown;

  static std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* self) noexcept {
    return static_cast<Transfer*>(self)->take(bytes, count) ? count : count + 1;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    return static_cast<Transfer*>(self)->stop.is_set() ? 1 : 0;
  }
  bool take(char* bytes, std::size_t count) noexcept {
    try {
      if (!begun) read_headers(curl, reply);
      if (reply.status != 200 && reply.status != 206) return (dropped += count) <= kMostDropped;
      if (!begun) sink.begin(reply);
      begun = true;
      sink.take(std::as_bytes(std::span(bytes, count)));
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }
};

HttpClient::HttpClient(const HubOptions& options, const StopFlag& stop) : options_(options), stop_(stop), curl_(new_handle()) {}

HttpClient::~HttpClient() { curl_easy_cleanup(curl_); }

HttpReply HttpClient::send(const HttpRequest& request, BodySink& sink) {
  const std::string home = origin_of(request.url);
  std::string url = request.url;
  for (int hops = 0; hops <= kMostRedirects; ++hops) {
    const bool at_home = origin_of(url) == home;
    HttpReply reply = send_once(request, url, at_home && !request.token.empty(), sink);
    reply.elsewhere = !at_home;
    reply.url = url;
    char* next = nullptr;
    curl_easy_getinfo(curl_, CURLINFO_REDIRECT_URL, &next);
    if (!reply.failure.empty() || next == nullptr || (request.head && !reply.linked_etag.empty())) return reply;
    url = next;
  }
  HttpReply lost;
  lost.url = request.url;
  lost.failure = fmt::format("more than {} redirects", kMostRedirects);
  lost.lasting = true;
  return lost;
}

HttpReply HttpClient::send_once(const HttpRequest& request, const std::string& url, bool with_token, BodySink& sink) {
  stop_.check();
  HttpReply reply;
  Transfer transfer{curl_, sink, stop_, reply, false, 0, nullptr};
  std::array<char, CURL_ERROR_SIZE> details{};
  curl_easy_reset(curl_);
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(curl_, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "conclave");
  set(CURLOPT_PROTOCOLS_STR, request.url.rfind("https:", 0) == 0 ? "https" : "http,https");
  set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(options_.connect_timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.stall_timeout.count()));
  set(CURLOPT_ERRORBUFFER, details.data());
  set(CURLOPT_NOBODY, request.head ? 1L : 0L);
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
  const std::string range = fmt::format("{}-", request.from);
  if (request.from > 0) set(CURLOPT_RANGE, range.c_str());
  if (with_token) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    set(CURLOPT_XOAUTH2_BEARER, request.token.c_str());
  }
  const CURLcode code = curl_easy_perform(curl_);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  stop_.check();
  read_headers(curl_, reply);
  if (code != CURLE_OK && transfer.dropped <= kMostDropped) {
    reply.failure = words_of(code, details.data());
    reply.lasting = is_lasting(code);
    reply.unreached = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT;
  }
  return reply;
}

bool is_address(const std::string& url) { return !origin_of(url).empty(); }

std::string url_escaped(const std::string& text) {
  const std::unique_ptr<char, decltype(&curl_free)> escaped(curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())),
                                                            &curl_free);
  if (escaped == nullptr) throw std::bad_alloc();
  return escaped.get();
}

}  // namespace conclave
