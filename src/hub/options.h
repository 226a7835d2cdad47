#pragma once
// Where models of the hub come from and where they are kept, and how patient a download is.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace conclave {

struct FileProgress {
  std::string name;
  std::int64_t done = 0, total = 0;  // bytes
};

struct DownloadProgress {
  std::int64_t done = 0, total = 0;  // bytes of all files together
  std::int64_t already = 0;          // of `done`, what an earlier start had fetched: it tells nothing about the speed
  std::vector<FileProgress> files;
};

struct HubOptions {
  std::filesystem::path cache;  // the folder that holds models--org--name
  std::string endpoint = "https://huggingface.co";
  std::string token;                                // empty: none
  bool offline = false;                             // use what the cache has; no connection is made
  std::string offline_variable = "HF_HUB_OFFLINE";  // what made it so, for messages
  bool weights = true;  // false: configuration, tokenizer and template are enough, no weights are fetched or asked for
  int parallel_files = 8;
  std::chrono::seconds connect_timeout{10};
  std::chrono::seconds stall_timeout{30};      // no byte for so long counts as a cut connection
  int attempts = 6;                            // in a row without progress, per request
  std::chrono::milliseconds first_pause{500};  // doubled after each failure, at most 30 s
  std::chrono::seconds longest_wait{300};      // the server may ask for more by Retry-After; then we give up

  // Both are called on the thread that resolves, about ten times a second while something is fetched.
  std::function<void(const DownloadProgress&)> progress;
  std::function<bool()> cancelled;
  // Bytes free for us where the folder lies; tests put their own in.
  std::function<std::uintmax_t(const std::filesystem::path&)> free_space;
};

// As Hugging Face's own programs: HF_HUB_CACHE, or HUGGINGFACE_HUB_CACHE, or HF_HOME/hub, or
// XDG_CACHE_HOME/huggingface/hub, or ~/.cache/huggingface/hub, all with ~, $NAME and ${NAME} replaced; HF_ENDPOINT; HF_TOKEN, or
// HUGGING_FACE_HUB_TOKEN, or the file HF_TOKEN_PATH, or HF_HOME/token (none when HF_HUB_DISABLE_IMPLICIT_TOKEN is set);
// HF_HUB_OFFLINE, or TRANSFORMERS_OFFLINE. An empty value counts as none. Throws Error{bad_input} for a value that cannot be used.
HubOptions hub_options_from_environment();

}  // namespace conclave
