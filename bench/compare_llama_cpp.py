#!/usr/bin/env python3
"""How fast conclave is beside llama.cpp on the same machine at the same time: ratios, since absolute numbers are the machine's mood.

bench/compare_llama_cpp.py --conclave build/release/bin/conclave --llama-bench DIR/llama-bench --dims A --format nvfp4 \\
    --gguf A-nvfp4.gguf A-q4_0.gguf

Weights are random on both sides. --dims and --format make a config.json that conclave runs with --load-format dummy:
    A  Qwen3-30B-A3B with 8 layers    B  MiniMax-M2's widths with 2 layers    C  a tiny model    (all Qwen3-MoE, vocabulary reduced)
    nvfp4, mxfp4: experts in it, attention and head in FP8 by channel, as many bytes as the Q8_0 of the peer's; bf16, fp8: everything
or give --model, a folder with a config.json. The gguf files must have the same dimensions. llama-batched-bench is looked for beside
llama-bench; build both in Release with -march=native.

A round runs every program once, one after the other, so that all meet the same neighbours; the figures are medians over rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

DIMS = {"A": dict(layers=8, hidden=2048, experts=128, top_k=8, inter=768, heads=32, kv_heads=4, head_dim=128, vocab=32768),
        "B": dict(layers=2, hidden=3072, experts=256, top_k=8, inter=1536, heads=48, kv_heads=8, head_dim=128, vocab=32768),
        "C": dict(layers=8, hidden=256, experts=16, top_k=4, inter=128, heads=4, kv_heads=2, head_dim=64, vocab=4096)}
FOUR_BITS = {"nvfp4": dict(num_bits=4, type="float", strategy="tensor_group", group_size=16),
             "mxfp4": dict(num_bits=4, type="float", strategy="group", group_size=32)}
PROMPT, ANSWER, BATCH = 512, 32, 8


def quantization(form):
    if form == "bf16":
        return {}
    if form == "fp8":
        return {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    return {"quant_method": "compressed-tensors", "format": "mixed-precision", "ignore": ["re:.*mlp\\.gate$"], "config_groups": {
        "experts": {"targets": ["re:.*mlp\\.experts\\..*"], "format": form + "-pack-quantized", "weights": FOUR_BITS[form]},
        "others": {"targets": ["re:.*self_attn\\..*", "re:.*lm_head"], "format": "float-quantized",
                   "weights": dict(num_bits=8, type="float", strategy="channel")}}}


def write_config(folder, dims, form):
    d = DIMS[dims]
    config = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "norm_topk_prob": True,
              "num_hidden_layers": d["layers"], "hidden_size": d["hidden"], "num_experts": d["experts"], "num_experts_per_tok": d["top_k"],
              "moe_intermediate_size": d["inter"], "intermediate_size": d["inter"], "num_attention_heads": d["heads"],
              "num_key_value_heads": d["kv_heads"], "head_dim": d["head_dim"], "vocab_size": d["vocab"], "rms_norm_eps": 1e-6,
              "max_position_embeddings": 40960, "rope_theta": 1e6, "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
    if quantization(form):
        config["quantization_config"] = quantization(form)
    (folder / "config.json").write_text(json.dumps(config))


def output_of(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{words[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


class Conclave:
    def __init__(self, program, model):
        self.program, self.model, self.name = program, model, f"conclave {Path(model).name}"

    def bench(self, threads, *words):
        return json.loads(output_of(self.program, "bench", "latency", self.model, "--load-format", "dummy", "--no-verify", "--threads",
                                    threads, "--num-iters", 1, "--json", *words))

    def single(self, threads):
        got = self.bench(threads, "--input-len", PROMPT, "--output-len", ANSWER)
        return {f"prefill of {PROMPT}": got["prefill_tokens_per_second"]["median"], "decode": got["decode_tokens_per_second"]["median"]}

    def batch(self, threads):
        got = self.bench(threads, "--input-len", 8, "--output-len", ANSWER, "--batch-size", BATCH)
        return {f"decode of {BATCH}": got["decode_tokens_per_second"]["median"]}


class LlamaCpp:
    def __init__(self, program, gguf):
        self.program, self.gguf, self.name = Path(program), gguf, f"llama.cpp {Path(gguf).stem}"

    def single(self, threads):
        # -d: tokens are decoded behind a context as long as the other side's.
        got = json.loads(output_of(self.program, "-m", self.gguf, "-t", threads, "-p", PROMPT, "-n", 0, "-r", 1, "-o", "json"))
        got += json.loads(output_of(self.program, "-m", self.gguf, "-t", threads, "-p", 0, "-n", ANSWER, "-d", PROMPT, "-r", 1, "-o", "json"))
        return {f"prefill of {PROMPT}" if test["n_prompt"] else "decode": test["samples_ts"][0] for test in got}

    def batch(self, threads):
        for _ in range(10):  # its last line is lost now and then
            lines = output_of(self.program.with_name("llama-batched-bench"), "-m", self.gguf, "-c", 2048, "-b", PROMPT, "-ub", PROMPT, "-npp",
                              8, "-ntg", ANSWER, "-npl", BATCH, "-t", threads, "-tb", threads, "--output-format", "jsonl").splitlines()
            for line in lines:
                if line.startswith("{"):
                    return {f"decode of {BATCH}": json.loads(line)["speed_tg"]}
        sys.exit("llama-batched-bench printed no result")


def busy_neighbour():
    return subprocess.Popen([sys.executable, "-c", "while True: pass"])


def run_round(sides, plans, speeds):
    """Adds to speeds: test -> side -> figures."""
    for threads, busy, tests in plans:
        for side in sides:
            neighbour = busy_neighbour() if busy else None
            try:
                for test in tests:
                    for what, speed in getattr(side, test)(threads).items():
                        name = f"{what}, {threads} thread{'s' if threads > 1 else ''}{', beside a busy process' if busy else ''}"
                        speeds.setdefault(name, {}).setdefault(side.name, []).append(speed)
            finally:
                if neighbour:
                    neighbour.kill()
                    neighbour.wait()


def measure(sides, threads, rounds, busy):
    """Until all rounds are done, or Ctrl-C, which shows what there is."""
    plans = [(n, False, ("single", "batch")) for n in threads] + ([(max(threads), True, ("single",))] if busy else [])
    speeds = {}
    try:
        for number in range(rounds):
            run_round(sides, plans, speeds)
            print(f"round {number + 1} of {rounds}, load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass
    return {test: by_side for test, by_side in speeds.items() if len(by_side) == len(sides)}


def show(speeds, ours, peers):
    print("tokens/s, medians (least to largest); ratios are ours to the peer's\n")
    print(f"| test | {ours} |" + "".join(f" {p} | ratio |" for p in peers))
    print("| --- | --- |" + " --- | --- |" * len(peers))
    for test in speeds:
        words = lambda name: f"{statistics.median(speeds[test][name]):.1f} ({min(speeds[test][name]):.1f} to {max(speeds[test][name]):.1f})"
        mine = statistics.median(speeds[test][ours])
        print(f"| {test} | {words(ours)} |" + "".join(f" {words(p)} | {mine / statistics.median(speeds[test][p]):.2f} |" for p in peers))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conclave", required=True, help="the program")
    parser.add_argument("--llama-bench", required=True, help="the peer's program")
    parser.add_argument("--gguf", required=True, nargs="+", help="the peer's models")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--dims", choices=DIMS)
    which.add_argument("--model", help="a folder with config.json instead of --dims")
    parser.add_argument("--format", choices=[*FOUR_BITS, "bf16", "fp8"], default="nvfp4")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-busy", action="store_true", help="leave out the runs beside a busy process")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(options.model or place) if options.model else Path(place) / f"{options.dims}-{options.format}"
        if not options.model:
            folder.mkdir()
            write_config(folder, options.dims, options.format)
        ours = Conclave(options.conclave, folder)
        peers = [LlamaCpp(options.llama_bench, gguf) for gguf in options.gguf]
        speeds = measure([ours, *peers], options.threads, options.rounds, not options.no_busy)
    show(speeds, ours.name, [p.name for p in peers])


main()
