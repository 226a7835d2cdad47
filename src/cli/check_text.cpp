#include "cli/check_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/problems.h"
#include "conclave/error.h"
#include "engine/sampling_params.h"
#include "engine/text_files.h"

namespace conclave::cli {
namespace {

template <class Look>
void note_errors(Findings& findings, const Look& look) {
  try {
    look();
  } catch (const Error& e) {
    // Tokenizer and chat template read some of the same files.
    for (std::string& words : problems_of(e))
      if (std::ranges::find(findings.problems, words) == findings.problems.end()) findings.problems.push_back(std::move(words));
  }
}

void check_tokenizer(const FileSet& files, const ModelConfig* model, Findings& findings) {
  if (files.find("tokenizer.json") == nullptr) {
    findings.notes.push_back(
        "no tokenizer.json: `run` takes and gives token ids (--ids, --skip-tokenizer-init), `chat` cannot be used");
    return;
  }
  const auto tokenizer = open_tokenizer(files);
  if (model != nullptr && tokenizer->vocab_size() > model->vocab)
    findings.notes.push_back(
        fmt::format("the tokenizer has ids up to {} and the model's vocabulary {}: a text with others is refused",
                    tokenizer->vocab_size() - 1, model->vocab));
}

// That it can be read says little: most mistakes of a template are met when it is used.
void check_template(const FileSet& files, Findings& findings) {
  const auto prompt = open_chat_prompt(files, "");
  if (!prompt) {
    findings.notes.push_back(
        "no chat template (chat_template.jinja, or chat_template in tokenizer_config.json): `chat` needs --chat-template, `run` "
        "--chat-template or --raw");
    return;
  }
  try {
    const ChatMessage question{"user", "Hello"};
    prompt->render({&question, 1});
  } catch (const Error& e) {
    findings.notes.push_back(fmt::format("the chat template does not take a lone question: {}", e.what()));
  }
}

void check_defaults(const FileSet& files, const ModelConfig* model, Findings& findings) {
  if (files.find("generation_config.json") == nullptr)
    findings.notes.push_back(
        "no generation_config.json: tokens are drawn at temperature 1 unless asked otherwise, and answers end at config.json's "
        "eos_token_id");
  else if (model != nullptr)
    sampling_defaults(*model->generation, findings.notes);
}

}  // namespace

void check_text(const FileSet& files, const ModelConfig* model, Findings& findings) {
  note_errors(findings, [&] { check_tokenizer(files, model, findings); });
  note_errors(findings, [&] { check_template(files, findings); });
  note_errors(findings, [&] { check_defaults(files, model, findings); });
}

}  // namespace conclave::cli
