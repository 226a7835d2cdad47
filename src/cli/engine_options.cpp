#include "cli/engine_options.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "cli/interrupt.h"
#include "cli/progress_bar.h"
#include "io/mapped_file.h"
#include "models/model_files.h"

namespace conclave::cli {

void add_model_flag(CLI::App& command, std::string& model) {
  command.add_option(
      "-m,--model", model,
      "Folder with config.json, safetensors and tokenizer.json, or org/name of the hub; left out: the built-in model");
}

CLI::Option* add_load_format_flag(CLI::App& command, std::string& format) {
  return command
      .add_option("--load-format", format, "auto, or dummy: random weights as config.json describes them; no weights need be there")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kLoadFormats), std::end(kLoadFormats))));
}

void add_engine_flags(CLI::App& command, EngineFlags& flags) {
  EngineOptions& o = flags.options;
  const char* group = "Engine";
  add_model_flag(command, o.model);
  add_load_format_flag(command, o.load_format)->group(group);
  command.add_option("--threads", o.threads, "Threads that compute; 0: as many as this process may use")
      ->envname("CONCLAVE_THREADS")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  command
      .add_option("--moe-backend", o.moe_backend,
                  "auto, latency, throughput or a backend's name (see `doctor`); never another one silently")
      ->envname("CONCLAVE_MOE_BACKEND")
      ->group(group);
  command.add_option("--dtype", flags.dtype, "auto, or float32: everything by the slow reference with a float32 cache")
      ->check(CLI::IsMember({"auto", "float32"}))
      ->group(group);
  command.add_option("--kv-cache-dtype", o.kv_cache_dtype, "auto, bfloat16 or float32")->group(group);
  command.add_option("--max-model-len", o.max_model_len, "Most tokens of prompt and answer together; 0: the model's own limit")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  command.add_option("--max-num-seqs", o.max_num_seqs, "Most sequences that run at once")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  command.add_option("--max-num-batched-tokens", o.max_num_batched_tokens, "Most tokens of one step; longer prompts go in chunks")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  command.add_flag("--no-verify{false}", o.verify, "Do not compare the chosen expert kernels with the reference while loading")
      ->group(group);
  command.add_flag("--skip-tokenizer-init", o.skip_tokenizer_init, "Token ids in and out; the folder needs no tokenizer")
      ->group(group);
  command.add_option("--chat-template", flags.chat_template_file, "Jinja file used instead of the model's own template")
      ->check(CLI::ExistingFile)
      ->group(group);
  command
      .add_option("--generation-config", flags.generation_config, "auto: sampling defaults of generation_config.json; vllm: none")
      ->check(CLI::IsMember({"auto", "vllm"}))
      ->group(group);
}

void add_sampling_flags(CLI::App& command, SamplingParams& s) {
  const char* group = "Sampling";
  command.add_option("--max-tokens", s.max_tokens, "Most tokens of the answer")->check(CLI::NonNegativeNumber)->group(group);
  command.add_option("--temperature", s.temperature, "0: always the most likely token")->group(group);
  command.add_option("--top-p", s.top_p, "Smallest set of tokens with so much probability")->group(group);
  command.add_option("--top-k", s.top_k, "The so many most likely tokens; 0: all")->group(group);
  command.add_option("--min-p", s.min_p, "At least so much of the most likely token's probability")->group(group);
  command.add_option("--repetition-penalty", s.repetition_penalty, "Above 1: tokens seen before become less likely")->group(group);
  command.add_option("--presence-penalty", s.presence_penalty, "Taken off tokens generated before")->group(group);
  command.add_option("--frequency-penalty", s.frequency_penalty, "The same, once per time they were generated")->group(group);
  command.add_option("--seed", s.seed, "The same seed gives the same answer")->group(group);
  command.add_option("--stop", s.stop, "Text that ends the answer; may be given several times")
      ->allow_extra_args(false)
      ->group(group);
  command.add_flag("--ignore-eos", s.ignore_eos, "Go on after the end token, to --max-tokens")->group(group);
}

std::unique_ptr<Engine> open_engine(EngineFlags flags) {
  EngineOptions& o = flags.options;
  o.reference = flags.dtype == "float32";
  if (o.reference && o.kv_cache_dtype == "auto") o.kv_cache_dtype = "f32";
  o.generation_config = flags.generation_config == "auto";
  if (!flags.chat_template_file.empty()) o.chat_template = MappedFile::open(flags.chat_template_file)->text();
  ProgressBar download("Downloading"), bar("Loading");
  o.download_progress = [&download](std::int64_t done, std::int64_t total) { download.show(done, total); };
  o.cancelled = [] { return interrupts() > 0; };
  o.progress = [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); };
  return Engine::open(o);
}

std::vector<std::int32_t> parse_ids(const std::string& text) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int32_t id = 0;
    const auto [next, status] = std::from_chars(at, end, id);
    if (status != std::errc{} || (next != end && *next != ','))
      throw Error(Errc::bad_input,
                  fmt::format("token ids: expected whole numbers with commas between, such as 5,17,42; found '{}'", text));
    ids.push_back(id);
    at = next == end ? end : next + 1;
  }
  if (ids.empty()) throw Error(Errc::bad_input, "token ids: expected at least one, such as 5,17,42");
  return ids;
}

}  // namespace conclave::cli
