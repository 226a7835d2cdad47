// The public face: what the installed headers promise, by the classes of this room.
#include "conclave/engine.h"

#include <fmt/format.h>

#include <utility>

#include "conclave/conclave.h"
#include "engine/core.h"
#include "engine/output_queue.h"

namespace conclave {

const char* version() noexcept {
  static const std::string words = fmt::format("{}.{}.{}", CONCLAVE_VERSION_MAJOR, CONCLAVE_VERSION_MINOR, CONCLAVE_VERSION_PATCH);
  return words.c_str();
}

const char* to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "abort";
    case FinishReason::error: return "error";
  }
  return "unknown";
}

TokenStream::TokenStream(std::shared_ptr<OutputQueue> queue) noexcept : queue_(std::move(queue)) {}
TokenStream::~TokenStream() { queue_->cancel(); }
std::variant<Delta, Done> TokenStream::next() { return queue_->read(); }
std::optional<std::variant<Delta, Done>> TokenStream::try_next() { return queue_->try_read(); }
void TokenStream::cancel() noexcept { queue_->cancel(); }

std::unique_ptr<Engine> Engine::open(const EngineOptions& options) {
  const StepLimits limits = decide_step_limits(options);
  kv_cache_dtype(options);  // refuses an unknown name before anything is read
  return std::make_unique<Engine>(std::make_unique<EngineCore>(load(options, limits), options, limits));
}

Engine::Engine(std::unique_ptr<EngineCore> core) noexcept : core_(std::move(core)) {}
Engine::~Engine() = default;

std::variant<std::unique_ptr<TokenStream>, Error> Engine::submit(Request request) { return core_->submit(std::move(request)); }
bool Engine::step() { return core_->step(); }
void Engine::run(std::stop_token stop) { core_->run(std::move(stop)); }
const ModelInfo& Engine::info() const noexcept { return core_->info(); }
EngineStatus Engine::status() const noexcept { return core_->status(); }

std::vector<std::int32_t> Engine::tokenize(std::string_view text, bool add_special_tokens) const {
  return tokenizer_of(core_->loaded()).encode(text, add_special_tokens);
}

std::string Engine::detokenize(std::span<const std::int32_t> ids, bool skip_special_tokens) const {
  const Tokenizer& tokenizer = tokenizer_of(core_->loaded());
  for (std::int32_t id : ids) {
    if (!tokenizer.has(id)) throw Error(Errc::bad_input, fmt::format("token id {} is not one of the tokenizer's", id));
  }
  return tokenizer.decode(ids, skip_special_tokens);
}

std::string Engine::token_bytes(std::int32_t id) const { return tokenizer_of(core_->loaded()).bytes_of(id); }

std::string Engine::render_chat(std::span<const ChatMessage> messages) const {
  return chat_prompt_of(core_->loaded()).render(messages);
}
std::string Engine::render_chat_json(std::string_view json) const { return chat_prompt_of(core_->loaded()).render_json(json); }

}  // namespace conclave
