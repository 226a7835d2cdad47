#pragma once
// One command of the program: declares its options on the parser and says what to do once they are read.
#include <CLI/CLI.hpp>
#include <functional>

namespace conclave::cli {

// What the chosen command does; its result is the exit status.
using Action = std::function<int()>;

// Exit statuses, the same for every command.
inline constexpr int kSuccess = 0;
inline constexpr int kFailed = 1;         // the error is on stderr
inline constexpr int kUsage = 2;          // wrong options
inline constexpr int kInterrupted = 130;  // Ctrl-C

void add_run(CLI::App& app, Action&);
void add_chat(CLI::App& app, Action&);
void add_inspect(CLI::App& app, Action&);
void add_check(CLI::App& app, Action&);
void add_logits(CLI::App& app, Action&);
void add_bench(CLI::App& app, Action&);
void add_doctor(CLI::App& app, Action&);

}  // namespace conclave::cli
