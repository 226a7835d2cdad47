#pragma once
// The options that every command with an engine has, under vLLM's names.
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/progress_bar.h"
#include "conclave/engine.h"
#include "io/file_set.h"

namespace conclave::cli {

struct EngineFlags {
  EngineOptions options;
  std::string chat_template_file;
  std::string generation_config = "auto";
  std::string dtype = "auto";
};

// Declares them; `flags` must live until the parser has run.
void add_engine_flags(CLI::App& command, EngineFlags& flags);
// Declares temperature, top-p and the rest.
void add_sampling_flags(CLI::App& command, SamplingParams& sampling);
// The model as the command's one positional argument.
void add_model_argument(CLI::App& command, std::string& model);
// --load-format
CLI::Option* add_load_format_flag(CLI::App& command, std::string& format);
// --moe-backend; a name that no backend has is refused by the parser, whether the model has experts or not.
CLI::Option* add_backend_flag(CLI::App& command, std::string& backend);
// --max-model-len, --max-num-seqs and --max-num-batched-tokens.
void add_limit_flags(CLI::App& command, EngineOptions&);
// --threads and --moe-backend.
void add_compute_flags(CLI::App& command, int& threads, std::string& moe_backend);

// For LoadContext and EngineOptions: draws the bar, and gives up with Error{cancelled} after a counted interrupt.
std::function<void(std::int64_t done, std::int64_t total)> load_progress(ProgressBar&, std::string_view doing = "loading");

// Opens the engine with a progress bar on stderr. A counted interrupt (cli/interrupt.h) stops a download. Throws Error.
std::unique_ptr<Engine> open_engine(EngineFlags flags);
// The files of a model, for commands without an engine; the same bar, the same interrupt.
std::shared_ptr<const FileSet> open_files(const std::string& model, const std::string& load_format);

// "5,17,42" -> ids. Throws Error{bad_input}.
std::vector<std::int32_t> parse_ids(const std::string& text);

}  // namespace conclave::cli
