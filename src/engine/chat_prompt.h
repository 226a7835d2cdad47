#pragma once
// The prompt text of a conversation: a model's chat template with the variables that transformers gives it.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conclave/request.h"
#include "io/file_set.h"
#include "io/json_fwd.h"
#include "text/chat_template.h"

namespace conclave {

class ChatPrompt {
 public:
  // The template is `instead` if that is not empty, else chat_template.jinja, else tokenizer_config.json's. Nothing when there is
  // none. Throws Error{corrupt}.
  static std::optional<ChatPrompt> open(const FileSet&, std::string_view instead);

  // Both throw Error{bad_input} in the template's words.
  std::string render(std::span<const ChatMessage>) const;
  std::string render_json(std::string_view json) const;  // an object; see Engine::render_chat_json

 private:
  using SpecialTokens = std::vector<std::pair<std::string, std::string>>;  // "eos_token" -> its text
  ChatPrompt(ChatTemplate parsed, SpecialTokens tokens) : template_(std::move(parsed)), special_tokens_(std::move(tokens)) {}
  std::string render_with(const OrderedJson& given) const;

  ChatTemplate template_;
  SpecialTokens special_tokens_;
};

}  // namespace conclave
