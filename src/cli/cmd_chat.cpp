// conclave chat: a conversation at the terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"

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

  // Turns that no longer fit the context are forgotten, oldest first, and that is said.
  void ask(std::string text) {
    messages_.push_back({"user", std::move(text)});
    for (;;) {
      try {
        const Answer answer = print_answer(engine_, {messages_, flags_.sampling, false});
        std::cout << std::endl;
        messages_.push_back({"assistant", answer.text});
        last_ = answer.done;
        return;
      } catch (const Error& e) {
        if (e.code() != Errc::bad_input || !forget_oldest_turn()) {
          messages_.pop_back();
          fmt::print(stderr, "{}\n", e.what());
          return;
        }
        fmt::print(stderr, "(the conversation does not fit any more; the oldest turn is forgotten)\n");
      }
    }
  }

  void print_stats() const {
    if (last_) print_timings(*last_);
    print_kernels(engine_.info());
  }

 private:
  bool forget_oldest_turn() {
    const std::size_t first = flags_.system.empty() ? 0 : 1;
    if (messages_.size() < first + 3) return false;  // only the new question is left
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(first),
                    messages_.begin() + static_cast<std::ptrdiff_t>(first + 2));
    return true;
  }
  Engine& engine_;
  const ChatFlags& flags_;
  std::vector<ChatMessage> messages_;
  std::optional<Done> last_;
};

int chat(ChatFlags& flags) {
  if (!flags.positional_model.empty()) {
    if (!flags.engine.options.model.empty())
      throw Error(Errc::bad_input, "the model is given twice, by --model and by the first word");
    flags.engine.options.model = flags.positional_model;
  }
  count_interrupts();
  const std::unique_ptr<Engine> engine = open_engine(flags.engine);
  if (!engine->info().has_chat_template)
    throw Error(
        Errc::unsupported,
        engine->info().location + ": the model has no chat template; give one with --chat-template, or use `conclave run --raw`");
  if (interrupts() > 0) return kInterrupted;
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (terminal)
    fmt::print(stderr, "{} ({}). /help says what else there is.\n", engine->info().location, engine->info().architecture);
  Conversation conversation(*engine, flags);
  for (std::string line;;) {
    forget_interrupts();
    if (terminal) std::cerr << "\n> " << std::flush;
    if (!std::getline(std::cin, line) || interrupts() > 0) break;
    if (line.empty()) continue;
    if (line == "/exit" || line == "/quit") break;
    if (line == "/reset") {
      conversation.reset();
    } else if (line == "/stats") {
      conversation.print_stats();
    } else if (line[0] == '/') {
      std::cerr << kHelp;
    } else {
      conversation.ask(line);
      if (interrupts() > 1) break;
    }
  }
  return kSuccess;
}

}  // namespace

void add_chat(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command = app.add_subcommand("chat", "Talk with a model");
  command->footer(std::string("Inside:\n") + kHelp);
  command->add_option("model", flags->positional_model, "The same as --model");
  command->add_option("--system", flags->system, "A system message before the conversation");
  add_engine_flags(*command, flags->engine);
  add_sampling_flags(*command, flags->sampling);
  command->callback([flags, &action] { action = [flags] { return chat(*flags); }; });
}

}  // namespace conclave::cli
