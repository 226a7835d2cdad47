#pragma once
// What `bench latency` and `bench throughput` share: the options, the engine opened for them, and the runs.
#include <functional>
#include <memory>
#include <string>

#include "cli/bench_batch.h"
#include "cli/bench_figures.h"
#include "cli/bench_work.h"
#include "cli/engine_options.h"

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

// An engine whose limits hold the batch, unless options say otherwise.
struct BenchedEngine {
  std::unique_ptr<Engine> engine;
  ModelWork work;
};
BenchedEngine open_benched_engine(EngineBenchFlags);

// The runs after those that warm up, each with its times and a sample of the limits beside it; a progress bar on stderr.
std::vector<BatchTimes> run_batches(Engine&, const EngineBenchFlags&, Limits&);

// One value of each run.
Spread over(const std::vector<BatchTimes>&, const std::function<double(const BatchTimes&)>&);

// What was measured: the model, the machine, the kernels, the batch.
std::string engine_words(const ModelInfo&, const EngineBenchFlags&);
Json engine_json(const ModelInfo&, const EngineBenchFlags&);

}  // namespace conclave::cli
