// conclave chat: a conversation at the terminal.
#include <fmt/format.h>
#include <unistd.h>

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

struct ChatFlags {
  EngineFlags engine;
  SamplingParams sampling;
  std::string system, positional_model;
};

constexpr const char* kHelp =
    "  /reset   forget the conversation\n"
    "  /stats   tokens and speed of the last answer, and which kernels ran\n"
    "  /exit    leave (also Ctrl-D; Ctrl-C stops an answer, a second one leaves)\n";

class Conversation {
 public:
  Conversation(Engine& engine, const ChatFlags& flags) : engine_(engine), flags_(flags) { reset(); }

  void reset() {
    messages_.clear();
    if (!flags_.system.empty()) messages_.push_back({"system", flags_.system});
  }

  // Turns that no longer fit the context are forgotten, oldest first, and that is said. False: the question was refused, which is
  // said too, and is not part of the conversation.
  bool ask(std::string text) {
    std::vector<ChatMessage> messages = messages_;
    messages.push_back({"user", std::move(text)});
    try {
      if (forget_what_does_not_fit(messages)) say("(the conversation does not fit any more; the beginning is forgotten)\n");
      const Answer answer = print_answer(engine_, {messages, flags_.sampling, false});
      std::cout << std::endl;
      messages_ = std::move(messages);
      messages_.push_back({"assistant", answer.text});
      last_ = answer.done;
      return true;
    } catch (const Error& e) {
      if (e.code() == Errc::device) throw;  // nobody would hear the next answer either
      say(fmt::format("{}\n", e.what()));
      return false;
    }
  }

  void print_stats() const {
    if (last_) print_timings(*last_);
    print_kernels(engine_.info());
  }

 private:
  bool fits(const std::vector<ChatMessage>& messages) const {
    const std::size_t prompt = engine_.tokenize(engine_.render_chat(messages), false).size();
    const auto answer = static_cast<std::size_t>(flags_.sampling.max_tokens.value_or(1));
    return prompt + answer <= static_cast<std::size_t>(engine_.info().max_model_len);
  }

  // Removes the oldest turns, but neither the system message nor the new question. Says whether it had to and that was enough.
  bool forget_what_does_not_fit(std::vector<ChatMessage>& messages) const {
    if (fits(messages)) return false;
    auto first = messages.begin() + (flags_.system.empty() ? 0 : 1);
    while (messages.end() - first > 1) {
      first = messages.erase(first, first + 2);
      if (fits(messages)) return true;
    }
    return false;
  }

  Engine& engine_;
  const ChatFlags& flags_;
  std::vector<ChatMessage> messages_;
  std::optional<Done> last_;
};

// Reads and answers until the end. Where nobody sits, an interrupt is about all of it, and a refused question is a failure.
int converse(Engine& engine, const ChatFlags& flags, bool terminal) {
  Conversation conversation(engine, flags);
  bool refused = false;
  for (;;) {
    if (take_interrupts() > (terminal ? 1 : 0) || told_to_end()) return kInterrupted;
    if (terminal) say("\n> ");
    const std::optional<std::string> line = read_line();
    if (interrupts() > 0 || told_to_end()) return kInterrupted;
    if (!line || *line == "/exit" || *line == "/quit") return refused && !terminal ? kFailed : kSuccess;
    if (line->empty()) continue;
    if (*line == "/reset") {
      conversation.reset();
    } else if (*line == "/stats") {
      conversation.print_stats();
    } else if (line->front() == '/') {
      say(kHelp);
    } else if (!conversation.ask(*line)) {
      refused = true;
    }
  }
}

int chat(ChatFlags& flags) {
  if (!flags.positional_model.empty()) {
    if (!flags.engine.options.model.empty())
      throw Error(Errc::bad_input, "the model is given twice, by --model and by the first word");
    flags.engine.options.model = flags.positional_model;
  }
  if (flags.engine.options.skip_tokenizer_init)
    throw Error(Errc::bad_input, "--skip-tokenizer-init leaves no way to read a conversation; `conclave run --ids 5,17` takes token ids");
  count_interrupts();
  const std::unique_ptr<Engine> engine = open_engine(flags.engine);
  if (!engine->info().has_chat_template)
    throw Error(
        Errc::unsupported,
        engine->info().location + ": the model has no chat template; give one with --chat-template, or use `conclave run --raw`");
  if (interrupts() > 0) return kInterrupted;
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (terminal) say(fmt::format("{} ({}). /help says what else there is.\n", engine->info().location, engine->info().architecture));
  return converse(*engine, flags, terminal);
}

}  // namespace

void add_chat(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command = app.add_subcommand("chat", "Talk with a model");
  command->footer(std::string("Inside:\n") + kHelp +
                  "Examples:\n"
                  "  conclave chat\n"
                  "  conclave chat /models/Qwen3-30B-A3B --system \"Answer in one sentence.\"");
  command->add_option("model", flags->positional_model, "The same as --model")->check(some_text());
  command->add_option("--system", flags->system, "A system message before the conversation");
  add_engine_flags(*command, flags->engine);
  add_sampling_flags(*command, flags->sampling);
  command->callback([flags, &action] { action = [flags] { return chat(*flags); }; });
}

}  // namespace conclave::cli
