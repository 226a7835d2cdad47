#pragma once
// The kinds of `conclave bench`, each a file of its own.
#include "cli/command.h"

namespace conclave::cli {

void add_bench_latency(CLI::App& bench, Action&);
void add_bench_throughput(CLI::App& bench, Action&);
void add_bench_moe(CLI::App& bench, Action&);

}  // namespace conclave::cli
