#include "hub/repository.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/in_quotes.h"
#include "conclave/error.h"
#include "hub/patience.h"
#include "hub/refusals.h"
#include "io/file_set.h"
#include "io/json.h"

namespace conclave {
namespace {

constexpr std::size_t kLongestListing = std::size_t{32} << 20;
constexpr std::int64_t kLargestWeights = std::int64_t{1} << 40;
constexpr std::int64_t kLargestOther = std::int64_t{256} << 20;
constexpr std::size_t kLongestEtag = 128;

constexpr std::string_view kWanted[] = {"config.json",    "generation_config.json", "hf_quant_config.json",
                                        "tokenizer.json", "tokenizer_config.json",  "chat_template.jinja"};

class Text final : public BodySink {
 public:
  void begin(const HttpReply&) override { text.clear(); }
  void take(std::span<const std::byte> bytes) override {
    if (bytes.size() > kLongestListing - text.size())
      throw Error(Errc::corrupt, fmt::format("the hub's list of files is larger than {} bytes", kLongestListing));
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::string text;
};

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool is_weights(std::string_view name) { return ends_with(name, ".safetensors") || ends_with(name, ".safetensors.index.json"); }

bool is_second_copy(std::string_view name) { return name.substr(0, 12) == "consolidated"; }

HttpReply send_patiently(HttpClient& client, const HttpRequest& request, BodySink& sink, Patience patience) {
  for (;;) {
    HttpReply reply = client.send(request, sink);
    if (!worth_retrying(reply)) return reply;
    patience.wait_after(reply);
  }
}

Listing parse_listing(const std::string& text, const std::string& what) {
  const Json json = parse_json(text, what, {.max_bytes = kLongestListing});
  const auto sha = json.find("sha");
  if (sha == json.end() || !sha->is_string() || !is_commit(sha->get_ref<const std::string&>()))
    throw Error(Errc::corrupt, fmt::format("{} names no commit: expected 40 hexadecimal digits in 'sha'", what));
  Listing listing{sha->get<std::string>(), {}};
  const auto siblings = json.find("siblings");
  if (siblings == json.end() || !siblings->is_array()) throw Error(Errc::corrupt, fmt::format("{} has no array 'siblings'", what));
  for (const Json& sibling : *siblings) {
    const auto name = sibling.is_object() ? sibling.find("rfilename") : sibling.end();
    if (name == sibling.end() || !name->is_string())
      throw Error(Errc::corrupt, fmt::format("{} has a sibling without 'rfilename'", what));
    listing.files.push_back(name->get<std::string>());
  }
  return listing;
}

// W/"x" and "x" are both x.
std::string plain_etag(std::string_view text) {
  if (text.substr(0, 2) == "W/") text.remove_prefix(2);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

bool is_blob_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestEtag && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

RemoteFile description_of(const HttpReply& reply, const std::string& commit, const std::string& file) {
  const std::string what = fmt::format("the hub's description of {}", in_quotes(file));
  if (!reply.commit.empty() && reply.commit != commit)
    throw Error(Errc::corrupt,
                fmt::format("{} is of another commit: expected {}, found {}", what, commit, in_quotes(reply.commit)));
  RemoteFile out{file, plain_etag(reply.linked_etag.empty() ? reply.etag : reply.linked_etag), 0};
  if (!is_blob_name(out.etag))
    throw Error(Errc::corrupt, fmt::format("{} has no ETag that can name a file: found {}", what, in_quotes(out.etag)));
  const std::string& size = reply.linked_size.empty() ? reply.content_length : reply.linked_size;
  const std::optional<std::int64_t> parsed = parse_size(size);
  if (!parsed) throw Error(Errc::corrupt, fmt::format("{} has no size: found {}", what, in_quotes(size)));
  const std::int64_t largest = ends_with(file, ".safetensors") ? kLargestWeights : kLargestOther;
  if (*parsed > largest)
    throw Error(Errc::corrupt, fmt::format("{} promises {} bytes; a file of this kind has at most {}", what, *parsed, largest));
  out.size = *parsed;
  return out;
}

}  // namespace

std::vector<std::string> wanted_files(const std::vector<std::string>& listed, bool weights) {
  std::vector<std::string> out;
  for (const std::string& name : listed) {
    if (!is_plain_file_name(name)) continue;
    const bool known = std::find(std::begin(kWanted), std::end(kWanted), name) != std::end(kWanted);
    if (known || (weights && is_weights(name) && !is_second_copy(name))) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Listing fetch_listing(HttpClient& client, const ModelId& id, const HubOptions& options, const StopFlag& stop) {
  const HttpRequest request{fmt::format("{}/api/models/{}/revision/{}", options.endpoint, id.name, url_escaped(id.revision)), false,
                            0, options.token};
  Text body;
  const HttpReply reply = send_patiently(client, request, body, {options, stop, fmt::format("asking for model '{}'", id.name)});
  if (!reply.good()) throw refusal_of(reply, id, {}, options);
  return parse_listing(body.text, fmt::format("the hub's answer about '{}'", id.name));
}

RemoteFile fetch_description(HttpClient& client, const ModelId& id, const std::string& commit, const std::string& file,
                             const HubOptions& options, const StopFlag& stop) {
  const HttpRequest request{address_of(id, commit, file, options), true, 0, options.token};
  Text nothing;
  const HttpReply reply = send_patiently(client, request, nothing,
                                         {options, stop, fmt::format("asking for {} of model '{}'", in_quotes(file), id.name)});
  const bool redirected = reply.failure.empty() && reply.status >= 300 && reply.status < 400 && !reply.linked_etag.empty();
  if (!reply.good() && !redirected) throw refusal_of(reply, id, file, options);
  return description_of(reply, commit, file);
}

std::string address_of(const ModelId& id, const std::string& commit, const std::string& file, const HubOptions& options) {
  return fmt::format("{}/{}/resolve/{}/{}", options.endpoint, id.name, commit, url_escaped(file));
}

}  // namespace conclave
