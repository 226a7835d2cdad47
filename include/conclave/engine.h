#pragma once
// The engine: opens a model once, then answers many requests at a time in one batch.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conclave/error.h"
#include "conclave/model_info.h"
#include "conclave/request.h"

namespace conclave {

struct EngineOptions {
  std::string model{};               // folder, or org/name of the hub; empty: the built-in model
  std::string load_format = "auto";  // auto; dummy: random weights in place of the model's, which need not be there
  bool skip_tokenizer_init = false;  // token ids in and out only; the folder needs no tokenizer
  std::string chat_template{};       // Jinja text used instead of the model's; empty: the model's
  bool generation_config = true;     // take sampling defaults from generation_config.json

  int threads = 0;                   // that compute; 0: as many as this process may use
  std::string moe_backend = "auto";  // auto, latency, throughput or a backend's name
  bool verify = true;                // compare expert kernels with the reference while loading
  bool reference = false;            // everything by the slow float32 reference: to judge the fast path

  std::int32_t max_model_len = 0;           // prompt + answer; 0: the model's, less when the cache is smaller
  std::int32_t max_num_seqs = 0;            // that run at once; 0: 32
  std::int32_t max_num_batched_tokens = 0;  // rows of one step: longer prompts are computed in chunks; 0: 512 or max_num_seqs
  std::int64_t kv_cache_tokens = 0;         // 0: from kv_cache_bytes
  std::int64_t kv_cache_bytes = 0;          // 0: max_num_seqs full sequences, at most a quarter of the memory
  std::string kv_cache_dtype = "auto";      // auto, bf16, f32 (names of vLLM are understood: bfloat16, fp8, fp8_e4m3, ...)
  std::int32_t max_waiting = 1024;          // requests not yet running; more are refused
  std::int32_t max_logprobs = 20;           // most alternatives per token that a request may ask for; -1: any number

  // Called on the opening thread with bytes of weights prepared so far and of all; may be empty.
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
  // The same for bytes downloaded, should the model have to be fetched; and whether to give that up.
  std::function<void(std::int64_t done, std::int64_t total)> download_progress{};
  std::function<bool()> cancelled{};
};

class EngineCore;
class OutputQueue;

// The answer to one request, read by one thread at a time. Destroying it cancels the request.
class CONCLAVE_EXPORT TokenStream {
 public:
  explicit TokenStream(std::shared_ptr<OutputQueue>) noexcept;
  ~TokenStream();
  TokenStream(const TokenStream&) = delete;
  TokenStream& operator=(const TokenStream&) = delete;

  // Waits for what comes next. Some thread must be in Engine::run or calling Engine::step. After Done: the same Done again.
  std::variant<Delta, Done> next();
  // The same without waiting.
  std::optional<std::variant<Delta, Done>> try_next();
  // From any thread. The stream ends with FinishReason::cancelled after at most one more step.
  void cancel() noexcept;

 private:
  std::shared_ptr<OutputQueue> queue_;
};

class CONCLAVE_EXPORT Engine {
 public:
  // Throws Error with everything that is wrong with the options or the model.
  static std::unique_ptr<Engine> open(const EngineOptions&);

  explicit Engine(std::unique_ptr<EngineCore>) noexcept;
  ~Engine();  // streams that are not done end with FinishReason::cancelled; they may outlive the engine
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // From any thread. Refuses with every problem of the request at once (Errc::bad_input), or because too many requests wait
  // already (Errc::busy).
  std::variant<std::unique_ptr<TokenStream>, Error> submit(Request);

  // One step: admits requests, runs one batch, hands out its tokens. False when there was nothing to do. One thread at a time.
  bool step();
  // Steps until `stop`, sleeping when there is nothing to do; then ends all unfinished requests as cancelled.
  void run(std::stop_token stop);

  const ModelInfo& info() const noexcept;
  EngineStatus status() const noexcept;

  // Text and tokens, from any thread. Throw Error{bad_input} for text or ids that cannot be translated,
  // Error{unsupported} when there is no tokenizer or no chat template.
  std::vector<std::int32_t> tokenize(std::string_view text, bool add_special_tokens = true) const;
  std::string detokenize(std::span<const std::int32_t> ids, bool skip_special_tokens = true) const;
  std::string token_bytes(std::int32_t id) const;  // what one token stands for; not always whole characters
  // The prompt text of a conversation that the model is to answer.
  std::string render_chat(std::span<const ChatMessage> messages) const;
  // The same from a JSON object: "messages" and whatever else the template knows ("tools", "documents", "enable_thinking",
  // "add_generation_prompt": true unless given, ...).
  std::string render_chat_json(std::string_view json) const;

 private:
  std::unique_ptr<EngineCore> core_;
};

}  // namespace conclave
