// conclave bench: how fast it is here, beside what this machine could do at most.
#include "cli/cmd_bench.h"

#include "cli/message.h"

namespace conclave::cli {

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Measure speed, beside the limits of this machine");
  command->footer(
      "Every figure is the median of several runs with its least and largest, and stands beside what this machine can do at most,\n"
      "measured in the same run: bytes read from memory (by all threads, four streams each, huge pages), float32 multiply-adds, "
      "and\n"
      "products of 8-bit integers. Other programs that run meanwhile slow both, so trust shares more than absolute numbers.\n"
      "Examples:\n"
      "  conclave bench latency\n"
      "  conclave bench latency /models/Qwen3-30B-A3B --load-format dummy --input-len 512 --output-len 64 --batch-size 8\n"
      "  conclave bench throughput --num-prompts 64 --json\n"
      "  conclave bench moe --shape qwen3-30b-a3b --format nvfp4 --tokens 1,8,32,512");
  command->require_subcommand(0, 1);
  add_bench_latency(*command, action);
  add_bench_throughput(*command, action);
  add_bench_moe(*command, action);
  command->callback([command, &action] {  // after that of a kind; the parser's own refusal would hide a misspelt one
    if (action) return;
    action = [command] {
      say(command->help());
      return kUsage;
    };
  });
}

}  // namespace conclave::cli
