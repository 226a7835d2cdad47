#include "cli/answer.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/interrupt.h"
#include "cli/message.h"

namespace conclave::cli {
namespace {

void print_delta(const Delta& delta, bool show_ids) {
  if (show_ids) {
    for (std::int32_t id : delta.tokens) fmt::print("{} ", id);
  } else {
    std::fwrite(delta.text.data(), 1, delta.text.size(), stdout);
  }
  if (std::fflush(stdout) != 0) throw Error(Errc::device, "the answer could not be written to stdout");
}

}  // namespace

Answer print_answer(Engine& engine, Request request, bool show_ids) {
  auto submitted = engine.submit(std::move(request));
  if (auto* error = std::get_if<Error>(&submitted)) throw *error;
  TokenStream& stream = *std::get<std::unique_ptr<TokenStream>>(submitted);
  Answer answer;
  for (;;) {
    if (interrupts() > 0) stream.cancel();
    engine.step();
    while (auto event = stream.try_next()) {
      if (auto* done = std::get_if<Done>(&*event)) {
        answer.done = *done;
        if (done->error) throw *done->error;
        return answer;
      }
      const auto& delta = std::get<Delta>(*event);
      answer.text += delta.text;
      print_delta(delta, show_ids);
    }
  }
}

void print_timings(const Done& done) {
  const int decoded = done.usage.completion_tokens - 1;  // the first token belongs to the prompt's pass
  const double per_second = done.timings.decode > 0 ? decoded / done.timings.decode : 0.0;
  say(fmt::format("{} tokens at {:.0f} tokens/s, the first after {:.1f} ms; prompt of {} tokens; ended by {}\n",
                  done.usage.completion_tokens, per_second, 1e3 * done.timings.first_token, done.usage.prompt_tokens,
                  to_string(done.reason)));
}

void print_kernels(const ModelInfo& info) {
  say(fmt::format("{} on {} ({}, {} thread{}), loaded in {:.2f} s\n", info.location, info.device, info.operations, info.threads,
                  info.threads == 1 ? "" : "s", info.load_seconds));
  for (const auto& d : info.decisions) say(fmt::format("  {}: {}\n", d.where, d.what));
  for (const std::string& note : info.notes) say(fmt::format("  note: {}\n", note));
}

}  // namespace conclave::cli
