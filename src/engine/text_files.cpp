#include "engine/text_files.h"

#include <fmt/format.h>

#include "conclave/error.h"

namespace conclave {

std::unique_ptr<const Tokenizer> open_tokenizer(const FileSet& files) {
  const auto json = files.find("tokenizer.json");
  if (!json) {
    throw Error(Errc::not_found,
                fmt::format("{}: expected tokenizer.json, found none; with --skip-tokenizer-init (skip_tokenizer_init) "
                            "the model runs on token ids alone",
                            files.location()));
  }
  const auto config = files.find("tokenizer_config.json");
  try {
    return Tokenizer::from_json(json->text(), config ? config->text() : std::string_view());
  } catch (const Error& e) {
    throw e.with_context(files.location());
  }
}

std::optional<ChatPrompt> open_chat_prompt(const FileSet& files, const std::string& instead) {
  try {
    return ChatPrompt::open(files, instead);
  } catch (const Error& e) {
    throw e.with_context(instead.empty() ? files.location() : "the chat template of the options");
  }
}

}  // namespace conclave
