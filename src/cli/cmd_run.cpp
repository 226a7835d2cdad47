// conclave run: one prompt, one answer.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/number_check.h"
#include "cli/standard_input.h"

namespace conclave::cli {
namespace {

struct RunFlags {
  EngineFlags engine;
  SamplingParams sampling;
  std::vector<std::string> positional;
  std::string ids, system;
  bool raw = false, quiet = false;
};

// The first word is the model.
void take_model(RunFlags& flags) {
  if (!flags.engine.options.model.empty())
    throw Error(Errc::bad_input, "the model is given twice, by --model and by the first word");
  if (flags.positional.front().empty())
    throw Error(Errc::bad_input, "the first word, which names the model, is empty: leave it out for the built-in model");
  flags.engine.options.model = flags.positional.front();
}

// "run PROMPT" or "run MODEL PROMPT"; "-", or nothing, or a lone folder reads the prompt from stdin.
std::string prompt_of(RunFlags& flags) {
  auto& words = flags.positional;
  if (words.size() == 2) {
    take_model(flags);
    words.erase(words.begin());
  }
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (words.size() == 1 && std::filesystem::is_directory(words.front())) {
    if (terminal)
      throw Error(Errc::bad_input,
                  fmt::format("'{0}' is a folder and there is no prompt: conclave run {0} \"your question\"", words.front()));
    take_model(flags);
    words.clear();
  }
  const bool from_stdin = words.empty() || words.front() == "-";
  const bool nobody_asked = words.empty() && terminal;
  std::string prompt = nobody_asked ? "" : from_stdin ? read_all() : words.front();
  if (prompt.empty()) throw Error(Errc::bad_input, "there is no prompt: conclave run \"your question\", or one on stdin");
  return prompt;
}

Request request_of(RunFlags& flags, const Engine& engine, std::string prompt) {
  Request request;
  request.sampling = flags.sampling;
  if (!flags.ids.empty()) {
    request.prompt = parse_ids(flags.ids);
  } else if (flags.raw || !engine.info().has_chat_template) {
    request.prompt = std::move(prompt);
  } else {
    std::vector<ChatMessage> messages;
    if (!flags.system.empty()) messages.push_back({"system", flags.system});
    messages.push_back({"user", std::move(prompt)});
    request.prompt = std::move(messages);
  }
  return request;
}

int run(RunFlags& flags) {
  if (!flags.ids.empty() && flags.positional.size() > 1) throw Error(Errc::bad_input, "--ids is the prompt: give no other");
  if (flags.ids.empty() && flags.engine.options.skip_tokenizer_init)
    throw Error(Errc::bad_input, "--skip-tokenizer-init leaves no way to read a text; give the prompt's token ids with --ids");
  std::string prompt;
  if (flags.ids.empty()) {
    prompt = prompt_of(flags);
  } else if (!flags.positional.empty()) {
    take_model(flags);
  }
  count_interrupts();
  const std::unique_ptr<Engine> engine = open_engine(flags.engine);
  const bool show_ids = !engine->info().has_tokenizer;
  const Answer answer = print_answer(*engine, request_of(flags, *engine, std::move(prompt)), show_ids);
  std::cout << std::endl;
  if (!flags.quiet) {
    say("\n");
    print_timings(answer.done);
    print_kernels(engine->info());
  }
  return answer.done.reason == FinishReason::cancelled ? kInterrupted : kSuccess;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "Answer one prompt");
  command->footer(
      "Examples:\n"
      "  conclave run \"Tom has 3 bags with 4 apples each. How many apples are there?\"\n"
      "  conclave run /models/Qwen3-30B-A3B \"Why is the sky blue?\" --max-tokens 200\n"
      "  conclave run --raw --temperature 0 < prompt.txt\n"
      "  conclave run /models/tiny --ids 5,17,42 --skip-tokenizer-init --max-tokens 8");
  command
      ->add_option("prompt", flags->positional,
                   "[MODEL] PROMPT; '-' or nothing: the prompt is read from stdin, as it is for a lone model folder")
      ->expected(0, 2);
  command->add_option("--ids", flags->ids, "The prompt as token ids, such as 5,17,42")->check(some_text());
  command->add_option("--system", flags->system, "A system message before the prompt");
  command->add_flag("--raw", flags->raw, "Continue the prompt as plain text, without the chat template");
  command->add_flag("-q,--quiet", flags->quiet, "Only the answer");
  add_engine_flags(*command, flags->engine);
  add_sampling_flags(*command, flags->sampling);
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
