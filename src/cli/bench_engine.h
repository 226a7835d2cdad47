#pragma once
// What `bench latency` and `bench throughput` share: the options, the engine opened for them, and the runs.
#include <functional>
#include <memory>
#include <string>

#include "cli/bench_batch.h"
#include "cli/bench_figures.h"
#include "cli/bench_work.h"
#include "cli/engine_options.h"
#include "io/json.h"

namespace conclave::cli {

struct EngineBenchFlags {
  EngineFlags engine;
  std::string model;
  BatchShape shape;
  std::int32_t iterations = 5, warmups = 1;
  bool json = false;
};

// The model as first word, lengths, numbers of runs, --json and every option of the engine.
void add_engine_bench_flags(CLI::App& command, EngineBenchFlags&);

// The runs after those that warm up, each with a sample of the limits beside it, and what they are divided by.
struct EngineRuns {
  std::vector<BatchTimes> times;
  const Limits& limits;
  const ModelWork& work;
  const ModelInfo& info;
};
// What a kind of bench makes of them, for people and for scripts.
struct EngineFigures {
  std::string text;
  Json json;
};

// Opens an engine whose limits hold the batch, unless options say otherwise, runs with a progress bar on stderr, and prints what
// was measured (the model, the machine, the kernels, the batch) and the figures. Returns the exit code. Throws Error.
int bench_engine(EngineBenchFlags, const std::function<EngineFigures(const EngineRuns&)>&);

// One value of each run.
Spread over(const std::vector<BatchTimes>&, const std::function<double(const BatchTimes&)>&);

}  // namespace conclave::cli
