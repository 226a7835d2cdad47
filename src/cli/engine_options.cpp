#include "cli/engine_options.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "base/in_quotes.h"
#include "cli/interrupt.h"
#include "cli/number_check.h"
#include "io/mapped_file.h"
#include "models/model_files.h"
#include "moe/select.h"

namespace conclave::cli {

namespace {

constexpr const char* kEngineGroup = "Engine";
constexpr const char* kModelHelp = "Folder with config.json and safetensors, or org/name of the hub; left out: the built-in model";

// Words on stderr while a model is fetched, and the way to give that up.
DownloadWatch watch_of(ProgressBar& bar) {
  return {[&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); }, [] { return interrupts() > 0; }};
}

}  // namespace

void add_model_argument(CLI::App& command, std::string& model) {
  command.add_option("model", model, kModelHelp)->check(some_text());
}

void add_compute_flags(CLI::App& command, int& threads, std::string& moe_backend) {
  command.add_option("--threads", threads, "Threads that compute; 0: as many as this process may use")
      ->envname("CONCLAVE_THREADS")
      ->transform(whole_number(0, 4096))
      ->group(kEngineGroup);
  add_backend_flag(command, moe_backend)->group(kEngineGroup);
}

CLI::Option* add_backend_flag(CLI::App& command, std::string& backend) {
  const auto problem = [](std::string& name) -> std::string {
    try {
      moe::checked_name(name, moe::builtin_backends());
      return {};
    } catch (const Error& e) {
      return e.what();
    }
  };
  return command
      .add_option("--moe-backend", backend,
                  "auto, latency, throughput or a backend's name (see `doctor`); never another one silently")
      ->envname("CONCLAVE_MOE_BACKEND")
      ->check(CLI::Validator(problem, "", "backend"));
}

CLI::Option* add_load_format_flag(CLI::App& command, std::string& format) {
  return command
      .add_option("--load-format", format, "auto, or dummy: random weights as config.json describes them; no weights need be there")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kLoadFormats), std::end(kLoadFormats))));
}

void add_limit_flags(CLI::App& command, EngineOptions& o) {
  const auto add = [&](const char* name, std::int32_t& value, const char* words) {
    command.add_option(name, value, words)->transform(whole_number(0))->group(kEngineGroup);
  };
  add("--max-model-len", o.max_model_len, "Most tokens of prompt and answer together; 0: the model's own limit");
  add("--max-num-seqs", o.max_num_seqs, "Most sequences that run at once");
  add("--max-num-batched-tokens", o.max_num_batched_tokens, "Most tokens of one step; longer prompts go in chunks");
}

void add_engine_flags(CLI::App& command, EngineFlags& flags) {
  EngineOptions& o = flags.options;
  const char* group = kEngineGroup;
  command.add_option("-m,--model", o.model, kModelHelp)->check(some_text());
  add_load_format_flag(command, o.load_format)->group(group);
  add_compute_flags(command, o.threads, o.moe_backend);
  command.add_option("--dtype", flags.dtype, "auto, or float32: everything by the slow reference with a float32 cache")
      ->check(CLI::IsMember({"auto", "float32"}))
      ->group(group);
  command.add_option("--kv-cache-dtype", o.kv_cache_dtype, "auto, bf16, f32, or fp8: E4M3 with the scales of the checkpoint")
      ->group(group);
  add_limit_flags(command, o);
  command
      .add_flag_callback(
          "--no-verify", [&o] { o.verify = false; }, "Do not compare the chosen expert kernels with the reference while loading")
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
  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min(), kHighest = std::numeric_limits<std::int64_t>::max();
  const auto add = [&](const char* name, auto& value, CLI::Validator check, const char* words) {
    command.add_option(name, value, words)->transform(std::move(check))->group(group);
  };
  add("--max-tokens", s.max_tokens, whole_number(1), "Most tokens of the answer");
  add("--temperature", s.temperature, real_number(0, 2), "0: always the most likely token");
  add("--top-p", s.top_p, real_number(0, 1), "Smallest set of tokens with so much probability");
  add("--top-k", s.top_k, whole_number(-1), "The so many most likely tokens; 0: all");
  add("--min-p", s.min_p, real_number(0, 1), "At least so much of the most likely token's probability");
  add("--repetition-penalty", s.repetition_penalty, real_number(0, 100), "Above 1: tokens seen before become less likely");
  add("--presence-penalty", s.presence_penalty, real_number(-2, 2), "Taken off tokens generated before");
  add("--frequency-penalty", s.frequency_penalty, real_number(-2, 2), "The same, once per time they were generated");
  add("--seed", s.seed, whole_number(kLowest, kHighest), "The same seed gives the same answer");
  command.add_option("--stop", s.stop, "Text that ends the answer; may be given several times")
      ->allow_extra_args(false)
      ->group(group);
  command.add_flag("--ignore-eos", s.ignore_eos, "Go on after the end token, to --max-tokens")->group(group);
}

std::function<void(std::int64_t, std::int64_t)> load_progress(ProgressBar& bar, std::string_view doing) {
  return [&bar, doing](std::int64_t done, std::int64_t total) {
    if (interrupts() > 0) throw Error(Errc::cancelled, fmt::format("interrupted while {} the model", doing));
    bar.show(done, total);
  };
}

std::unique_ptr<Engine> open_engine(EngineFlags flags) {
  EngineOptions& o = flags.options;
  o.reference = flags.dtype == "float32";
  if (o.reference && o.kv_cache_dtype == "auto") o.kv_cache_dtype = "f32";
  o.generation_config = flags.generation_config == "auto";
  if (!flags.chat_template_file.empty()) {
    o.chat_template = MappedFile::open(flags.chat_template_file)->text();
    if (o.chat_template.empty())
      throw Error(Errc::bad_input, fmt::format("--chat-template: expected a template, found nothing in '{}'; `conclave run --raw` "
                                               "does without one",
                                               flags.chat_template_file));
  }
  ProgressBar download("Downloading"), bar("Loading");
  DownloadWatch watch = watch_of(download);
  o.download_progress = std::move(watch.progress);
  o.cancelled = std::move(watch.cancelled);
  o.progress = load_progress(bar);
  return Engine::open(o);
}

std::shared_ptr<const FileSet> open_files(const std::string& model, const std::string& load_format) {
  ProgressBar download("Downloading");
  return open_model_files(model, load_format, watch_of(download));
}

std::vector<std::int32_t> parse_ids(const std::string& text) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;; ++at) {
    std::int32_t id = 0;
    const auto [next, status] = std::from_chars(at, end, id);
    if (status != std::errc{} || (next != end && *next != ','))
      throw Error(Errc::bad_input,
                  fmt::format("token ids: expected whole numbers with commas between, such as 5,17,42; found {}", in_quotes(text)));
    ids.push_back(id);
    at = next;
    if (at == end) return ids;
  }
}

}  // namespace conclave::cli
