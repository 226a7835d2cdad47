#include "cli/bench_batch.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>

#include "cli/bench_figures.h"

namespace conclave::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Stream {
  std::unique_ptr<TokenStream> tokens;
  std::int32_t received = 0;
  double first_token = 0.0;
  bool done = false;
};

Request request_of(const BatchShape& shape, std::int32_t vocab, std::mt19937_64& random) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(shape.input_len));
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab));
  Request request;
  request.prompt = std::move(ids);
  SamplingParams& s = request.sampling;
  s.temperature = 1.0;
  s.top_p = 1.0;
  s.top_k = 0;
  s.min_p = 0.0;
  s.repetition_penalty = 1.0;
  s.seed = static_cast<std::int64_t>(random() >> 1);
  s.max_tokens = shape.output_len;
  s.ignore_eos = true;
  return request;
}

std::vector<Stream> submit_all(Engine& engine, const BatchShape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Stream> streams;
  for (std::int32_t i = 0; i < shape.prompts; ++i) {
    auto submitted = engine.submit(request_of(shape, engine.info().vocab, random));
    if (auto* error = std::get_if<Error>(&submitted)) throw *error;
    streams.emplace_back().tokens = std::move(std::get<std::unique_ptr<TokenStream>>(submitted));
  }
  return streams;
}

// Takes what the step gave; returns how many of the streams got a token.
std::int32_t take_tokens(std::vector<Stream>& streams, Clock::time_point begin) {
  std::int32_t got = 0;
  for (Stream& s : streams) {
    const std::int32_t before = s.received;
    while (!s.done) {
      const auto event = s.tokens->try_next();
      if (!event) break;
      if (const auto* delta = std::get_if<Delta>(&*event)) {
        s.received += static_cast<std::int32_t>(delta->tokens.size());
        continue;
      }
      s.done = true;
      if (const auto& error = std::get<Done>(*event).error) throw *error;
    }
    if (s.received == before) continue;
    if (before == 0) s.first_token = seconds_since(begin);
    ++got;
  }
  return got;
}

}  // namespace

BatchTimes run_batch(Engine& engine, const BatchShape& shape, std::uint64_t seed) {
  BatchTimes times;
  std::vector<Stream> streams = submit_all(engine, shape, seed);
  const Clock::time_point begin = Clock::now();
  const auto answering = [](const Stream& s) { return s.received > 0 && !s.done; };
  while (!std::ranges::all_of(streams, &Stream::done)) {
    stop_if_interrupted();
    const bool only_decodes = std::ranges::all_of(streams, answering);
    const Clock::time_point step_began = Clock::now();
    engine.step();
    const double step = seconds_since(step_began);
    const std::int32_t got = take_tokens(streams, begin);
    if (only_decodes && got == shape.prompts) {
      ++times.decode_steps;
      times.decode += step;
    }
  }
  times.whole = seconds_since(begin);
  for (const Stream& s : streams) times.first_token.push_back(s.first_token);
  times.first_tokens = *std::ranges::max_element(times.first_token);
  return times;
}

}  // namespace conclave::cli
