// The conclave program: reads the command line and runs one command.
#include <fmt/format.h>

#include <cstdio>
#include <new>

#include "base/log.h"
#include "cli/command.h"
#include "cli/environment.h"
#include "conclave/error.h"
#include "conclave/version.h"

namespace conclave::cli {
namespace {

// Every command, in the order of --help.
constexpr void (*kCommands[])(CLI::App&, Action&) = {add_run, add_chat, add_inspect, add_logits, add_doctor};

const std::map<std::string, LogLevel> kLevels{{"debug", LogLevel::debug},
                                              {"info", LogLevel::info},
                                              {"warning", LogLevel::warning},
                                              {"error", LogLevel::error},
                                              {"off", LogLevel::off}};

int main(int argc, char** argv) {
  CLI::App app{"Runs Mixture-of-Experts language models on any CPU.", "conclave"};
  app.set_version_flag("--version", fmt::format("conclave {}", version()));
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(36);
  app.footer(
      "`conclave COMMAND --help` tells more. Exit status: 0 done, 1 failed (the reason is on stderr), 2 wrong usage, 130 "
      "interrupted.");
  LogLevel level = LogLevel::warning;
  app.add_option("--log-level", level, "debug, info, warning, error or off")
      ->envname("CONCLAVE_LOG_LEVEL")
      ->transform(CLI::CheckedTransformer(kLevels, CLI::ignore_case));
  Action action;
  for (const auto add : kCommands) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kSuccess : kUsage;
  }
  if (!action) {  // the parser's own "a subcommand is required" would hide a misspelt one
    fmt::print(stderr, "{}", app.help());
    return kUsage;
  }
  try {
    set_log_level(level);
    check_environment();
    const int status = action();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw Error(Errc::device, "the output could not be written to stdout");
    return status;
  } catch (const Error& e) {
    fmt::print(stderr, "conclave: {}\n", e.what());
    if (e.code() == Errc::cancelled) return kInterrupted;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "conclave: out of memory\n");
  } catch (const std::exception& e) {
    fmt::print(stderr, "conclave: {}\n", e.what());
  }
  return kFailed;
}

}  // namespace
}  // namespace conclave::cli

int main(int argc, char** argv) { return conclave::cli::main(argc, argv); }
