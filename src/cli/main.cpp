// The conclave program: reads the command line and runs one command.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <new>
#include <span>
#include <sstream>

#include "base/log.h"
#include "cli/command.h"
#include "cli/environment.h"
#include "cli/message.h"
#include "conclave/error.h"
#include "conclave/version.h"

namespace conclave::cli {
namespace {

// Every command, in the order of --help.
constexpr void (*kCommands[])(CLI::App&, Action&) = {add_run, add_chat, add_inspect, add_check, add_logits, add_bench, add_doctor};

const std::map<std::string, LogLevel> kLevels{{"debug", LogLevel::debug},
                                              {"info", LogLevel::info},
                                              {"warning", LogLevel::warning},
                                              {"error", LogLevel::error},
                                              {"off", LogLevel::off}};

// The environment variable that gave the value which `problem` ("--threads: ...") is about; "" when a word of the command line did.
std::string variable_behind(const std::string& problem, const CLI::App& app, std::span<char* const> words) {
  const std::string name = problem.substr(0, problem.find(':'));
  if (std::any_of(words.begin(), words.end(), [&](std::string_view word) { return word.substr(0, name.size()) == name; }))
    return {};
  std::vector<const CLI::App*> all = {&app};
  for (std::size_t i = 0; i < all.size(); ++i)  // commands of commands too
    std::ranges::copy(all[i]->get_subcommands([](const CLI::App*) { return true; }), std::back_inserter(all));
  for (const CLI::App* command : all) {
    const CLI::Option* option = command->get_option_no_throw(name);
    if (option != nullptr && !option->get_envname().empty()) return option->get_envname();
  }
  return {};
}

// The help, or an error with the status of one.
int finish_parsing(const CLI::App& app, const CLI::ParseError& outcome, std::span<char* const> words) {
  std::ostringstream help, problem;
  const bool wrong = app.exit(outcome, help, problem) != 0;
  say(problem.str());
  if (const std::string variable = variable_behind(problem.str(), app, words); !variable.empty())
    say(fmt::format("The value is that of the environment variable {}.\n", variable));
  fmt::print("{}", help.str());
  return wrong ? kUsage : kSuccess;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Runs Mixture-of-Experts language models on any x86-64 CPU.", "conclave"};
  app.set_version_flag("--version", fmt::format("conclave {}", version()));
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(36);
  app.footer(
      "`conclave COMMAND --help` tells more. Exit status: 0 done, 1 failed, 2 asked for what cannot be (a wrong option, value or "
      "prompt), 130 interrupted; the reason is on stderr.");
  std::string level = "warning";
  app.add_option("--log-level", level, "How much is told on stderr")
      ->envname("CONCLAVE_LOG_LEVEL")
      ->transform(CLI::IsMember(&kLevels, CLI::ignore_case));
  Action action;
  for (const auto add : kCommands) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return finish_parsing(app, e, {argv, static_cast<std::size_t>(argc)});
  }
  if (!action) {  // the parser's own "a subcommand is required" would hide a misspelt one
    say(app.help());
    return kUsage;
  }
  set_log_level(kLevels.at(level));
  check_environment();
  return action();
}

int main(int argc, char** argv) try {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of its write, which says so
  const int status = parse_and_run(argc, argv);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw Error(Errc::device, "the output could not be written to stdout");
  return status;
} catch (const Error& e) {
  say(fmt::format("conclave: {}\n", e.what()));
  return e.code() == Errc::cancelled ? kInterrupted : e.code() == Errc::bad_input ? kUsage : kFailed;
} catch (const std::bad_alloc&) {
  say("conclave: out of memory; use a smaller model, a shorter context or fewer sequences, or raise the limit of this process\n");
  return kFailed;
} catch (const std::exception& e) {
  say(fmt::format("conclave: {}\n", e.what()));
  return kFailed;
}

}  // namespace
}  // namespace conclave::cli

int main(int argc, char** argv) { return conclave::cli::main(argc, argv); }
