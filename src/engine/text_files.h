#pragma once
// What of a model's files is about text.
#include <memory>
#include <optional>
#include <string>

#include "engine/chat_prompt.h"
#include "io/file_set.h"
#include "text/tokenizer.h"

namespace conclave {

// From tokenizer.json and, where it is there, tokenizer_config.json. Throws Error{not_found | corrupt | unsupported}.
std::unique_ptr<const Tokenizer> open_tokenizer(const FileSet&);
// ChatPrompt::open(), whose errors are told with where the template is from.
std::optional<ChatPrompt> open_chat_prompt(const FileSet&, const std::string& instead);

}  // namespace conclave
