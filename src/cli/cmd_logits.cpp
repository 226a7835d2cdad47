// conclave logits: float32 logits of every position of a token-id prompt. The command that proves a model.
#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors_writer.h"
#include "cli/command.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/number_check.h"
#include "models/model_files.h"
#include "models/single_sequence.h"

namespace conclave::cli {
namespace {

struct LogitsFlags {
  std::string model, ids, out, moe_backend = "auto", load_format = "auto";
  int threads = 0, new_tokens = 0, chunk = 512;
  bool reference = false, skip_tokenizer = false;
};

struct Result {
  std::vector<std::int32_t> prompt;
  std::vector<float> logits;  // [prompt, vocab]
  std::vector<std::int32_t> greedy;
  std::vector<float> margins;
};

void check_ids(const std::vector<std::int32_t>& ids, const ModelConfig& config) {
  for (std::int32_t id : ids)
    if (id < 0 || id >= config.vocab)
      throw Error(Errc::bad_input, fmt::format("--ids: {} is not in the vocabulary (0 to {})", id, config.vocab - 1));
}

// `chunk` rows of the prompt go in one step.
Result compute(std::vector<std::int32_t> prompt, int chunk, int new_tokens, SingleSequence& sequence, std::int32_t vocab) {
  Result result;
  result.prompt = std::move(prompt);
  std::vector<float> last(static_cast<std::size_t>(vocab));
  const auto append = [&](std::span<const std::int32_t> tokens) {
    if (interrupts() > 0) throw Error(Errc::cancelled, "interrupted before all logits were computed; nothing is written");
    const auto logits = sequence.append(tokens);
    std::copy(logits.end() - vocab, logits.end(), last.begin());
    return logits;
  };
  for (std::size_t at = 0; at < result.prompt.size(); at += static_cast<std::size_t>(chunk)) {
    const auto rows = std::min(static_cast<std::size_t>(chunk), result.prompt.size() - at);
    const auto logits = append(std::span(result.prompt).subspan(at, rows));
    result.logits.insert(result.logits.end(), logits.begin(), logits.end());
  }
  for (int i = 0; i < new_tokens; ++i) {
    const Argmax best = argmax(last);
    result.greedy.push_back(best.id);
    result.margins.push_back(best.margin);
    if (i + 1 < new_tokens) append({&result.greedy.back(), 1});
  }
  return result;
}

template <class T>
NamedTensor named(std::string name, const std::vector<T>& values, Shape shape) {
  return {std::move(name), ConstTensorView(reinterpret_cast<const std::byte*>(values.data()), DTypeOf<T>::value, shape)};
}

void write(const Result& r, std::int32_t vocab, const std::string& path) {
  const auto rows = static_cast<std::int64_t>(r.prompt.size());
  const auto greedy = static_cast<std::int64_t>(r.greedy.size());
  const NamedTensor tensors[] = {named("ids", r.prompt, {rows}), named("logits", r.logits, {rows, vocab}),
                                 named("greedy", r.greedy, {greedy}), named("margin", r.margins, {greedy})};
  write_safetensors(path, tensors);
}

void print(const Result& r, std::int32_t vocab) {
  for (std::size_t t = 0; t < r.prompt.size(); ++t) {
    const Argmax best = argmax(std::span(r.logits).subspan(t * static_cast<std::size_t>(vocab), static_cast<std::size_t>(vocab)));
    fmt::print("position {:>5}  id {:>6}  most likely next {:>6}  margin {:.4f}\n", t, r.prompt[t], best.id, best.margin);
  }
  for (std::size_t i = 0; i < r.greedy.size(); ++i)
    fmt::print("greedy   {:>5}  id {:>6}  margin {:.4f}\n", i, r.greedy[i], r.margins[i]);
}

int logits(const LogitsFlags& flags) {
  count_interrupts();
  std::vector<std::int32_t> prompt = parse_ids(flags.ids);
  // A step has a row of logits, as wide as the vocabulary, for each of its tokens.
  const auto chunk = static_cast<int>(std::min(static_cast<std::size_t>(flags.chunk), prompt.size()));
  const auto length = static_cast<std::int64_t>(prompt.size()) + flags.new_tokens;
  const DType cache_type = flags.reference ? DType::f32 : DType::bf16;
  const auto files = open_files(flags.model, flags.load_format);
  const auto checkpoint = open_weights_to_run(files, flags.load_format, {length, 0, cache_type});
  const auto device = open_cpu_device(flags.threads);
  const auto ops = flags.reference ? make_reference_ops() : make_cpu_ops(device->caps());
  LoadContext context{*device, *ops, flags.reference ? "reference" : flags.moe_backend};
  context.max_tokens = chunk;
  context.max_context = static_cast<std::int32_t>(std::min<std::int64_t>(length, INT32_MAX));
  const auto model = [&] {
    ProgressBar bar("Loading");
    context.progress = load_progress(bar);
    return load_model(*checkpoint, context);
  }();
  check_ids(prompt, model->config());
  if (length > model->config().max_positions)
    throw Error(Errc::bad_input, fmt::format("{} tokens of prompt and answer: the model knows positions up to {}", length,
                                             model->config().max_positions));
  SingleSequence sequence(*model, *device, *ops, static_cast<std::int32_t>(length), chunk, cache_type);
  const Result result = compute(std::move(prompt), chunk, flags.new_tokens, sequence, model->config().vocab);
  if (!std::ranges::all_of(result.logits, [](float x) { return std::isfinite(x); }))
    throw Error(Errc::corrupt, fmt::format("the model gives logits that are not finite{}",
                                           flags.load_format == "auto" && model->report().size.has_scales()
                                               ? "; `conclave check --deep` says whether a scale is not"
                                               : ""));
  if (!flags.out.empty()) write(result, model->config().vocab, flags.out);
  print(result, model->config().vocab);
  return kSuccess;
}

}  // namespace

void add_logits(CLI::App& app, Action& action) {
  auto flags = std::make_shared<LogitsFlags>();
  CLI::App* command = app.add_subcommand("logits", "Logits of every position of a token-id prompt; needs no tokenizer");
  command->footer(
      "The file of --out holds ids [T], logits [T, V], greedy [N] and margin [N] (float32, the top-1 to top-2 gap).\n"
      "Example: conclave logits /models/tiny --ids 5,17,42 --f32 --new 8 --out logits.safetensors");
  add_model_argument(*command, flags->model);
  add_load_format_flag(*command, flags->load_format);
  command->add_option("--ids", flags->ids, "The prompt, such as 5,17,42")->required()->check(some_text());
  command->add_flag("--f32", flags->reference, "By the float32 reference path with a float32 cache");
  command->add_option("--new", flags->new_tokens, "Greedy tokens to add")->transform(whole_number(0, 1 << 20));
  command->add_option("--out", flags->out, "Write everything to this safetensors file")->check(some_text());
  add_compute_flags(*command, flags->threads, flags->moe_backend);
  command->add_option("--chunk", flags->chunk, "Tokens of the prompt per step")->transform(whole_number(1, 65536));
  command->add_flag("--skip-tokenizer-init", flags->skip_tokenizer, "Accepted for symmetry: this command never needs a tokenizer");
  command->callback([flags, &action] { action = [flags] { return logits(*flags); }; });
}

}  // namespace conclave::cli
