#include "hub/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "conclave/error.h"
#include "hub/http.h"
#include "hub/shown.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestToken = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_true(std::string value) {
  for (char& c : value) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

fs::path home() {
  const std::string folder = variable("HOME");
  return folder.empty() ? fs::path(".") : fs::path(folder);
}

bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// $NAME and ${NAME} by their values; a variable that is not there stays as it is written.
std::string with_variables(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool braces = text.compare(i, 2, "${") == 0;
    const std::size_t begin = i + (braces ? 2 : 1);
    std::size_t end = begin;
    while (text[i] == '$' && end < text.size() && is_name_byte(text[end])) ++end;
    const bool whole = end > begin && (!braces || text.compare(end, 1, "}") == 0);
    const char* value = whole ? std::getenv(text.substr(begin, end - begin).c_str()) : nullptr;
    out += value != nullptr ? std::string(value) : text.substr(i, 1);
    i = value != nullptr ? end + (braces ? 1 : 0) : i + 1;
  }
  return out;
}

// Values in configuration files and service units are not expanded by a shell.
fs::path path_of(const std::string& value) {
  const bool at_home = value == "~" || value.rfind("~/", 0) == 0;
  return with_variables(at_home ? home().string() + value.substr(1) : value);
}

fs::path hub_home() {
  if (const std::string value = variable("HF_HOME"); !value.empty()) return path_of(value);
  const std::string caches = variable("XDG_CACHE_HOME");
  return (caches.empty() ? home() / ".cache" : path_of(caches)) / "huggingface";
}

fs::path cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const std::string value = variable(name); !value.empty()) return path_of(value);
  return hub_home() / "hub";
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

// The token goes into a header, so a line break inside it would be a header of someone else's making. It is never shown.
std::string checked_token(std::string_view text, std::string_view source) {
  std::string token = trimmed(text);
  const bool printable = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
  if (!printable || token.size() > kLongestToken)
    throw Error(Errc::bad_input, fmt::format("{} does not hold a token: expected one word of printable ASCII characters", source));
  return token;
}

std::string token_from_environment() {
  if (is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return {};
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
    if (std::string token = checked_token(variable(name), name); !token.empty()) return token;
  const std::string named = variable("HF_TOKEN_PATH");
  const fs::path path = named.empty() ? hub_home() / "token" : path_of(named);
  std::ifstream file(path, std::ios::binary);
  std::string text(kLongestToken + 64, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return checked_token(text, fmt::format("the token file {}", shown_path(path)));
}

std::string endpoint_from_environment(std::string fallback) {
  std::string endpoint = variable("HF_ENDPOINT");
  if (endpoint.empty()) return fallback;
  while (!endpoint.empty() && endpoint.back() == '/') endpoint.pop_back();
  if (endpoint.rfind("https://", 0) != 0 && endpoint.rfind("http://", 0) != 0)
    throw Error(Errc::bad_input, fmt::format("HF_ENDPOINT is '{}'; expected an address that begins with https:// or http://",
                                             shown_address(endpoint)));
  const std::size_t host_end = endpoint.find_first_of("/?#", endpoint.find("://") + 3);
  if (host_end != endpoint.npos && endpoint.find('@', host_end) != endpoint.npos)
    throw Error(Errc::bad_input, fmt::format("HF_ENDPOINT (an address at '{}') has '/', '?' or '#' in its user or password; write "
                                             "them as %2F, %3F and %23",
                                             shown_address(endpoint)));
  if (!is_address(endpoint))
    throw Error(Errc::bad_input, fmt::format("HF_ENDPOINT is '{}'; expected an address such as https://hub.example or "
                                             "http://127.0.0.1:8080",
                                             shown_address(endpoint)));
  return endpoint;
}

}  // namespace

HubOptions hub_options_from_environment() {
  HubOptions options;
  options.cache = cache_folder();
  options.endpoint = endpoint_from_environment(std::move(options.endpoint));
  options.token = token_from_environment();
  if (variable("HF_HUB_OFFLINE").empty() && !variable("TRANSFORMERS_OFFLINE").empty())
    options.offline_variable = "TRANSFORMERS_OFFLINE";
  options.offline = is_true(variable(options.offline_variable.c_str()));
  return options;
}

}  // namespace conclave
