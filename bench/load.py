#!/usr/bin/env python3
"""How fast a model on the disk is loaded, beside what this machine reads: bench/load.py PROGRAM... [--gb 2] [--threads 1 2]

Makes checkpoints in the shape of Qwen3-30B-A3B with fewer layers in a temporary folder, one that is used in place (NVFP4) and one that
is repacked (float16), and loads each with a warm page cache, programs in turns. "limit" is read(2) of the same file by as many
threads, each into one buffer that its cache holds."""
import argparse
import json
import os
import re
import struct
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HIDDEN, INTER, EXPERTS, VOCAB = 2048, 768, 128, 4096
CONFIG = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": HIDDEN, "num_attention_heads": 32,
          "num_key_value_heads": 4, "head_dim": 128, "num_experts": EXPERTS, "num_experts_per_tok": 8, "norm_topk_prob": True,
          "moe_intermediate_size": INTER, "intermediate_size": 6144, "rms_norm_eps": 1e-6, "vocab_size": VOCAB,
          "max_position_embeddings": 4096, "hidden_act": "silu", "rope_theta": 1e6}
NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "re:.*self_attn.*", "re:.*mlp.gate$"]}


def linear(name, rows, cols, dtype):
    """(name, dtype, shape, two bytes that fill it) of each tensor."""
    if dtype != "NVFP4":
        return [(name + ".weight", dtype, [rows, cols], b"\x00\x3c" if dtype == "BF16" else b"\x00\x20")]  # 2^-7
    return [(name + ".weight", "U8", [rows, cols // 2], b"\x21\x9a"), (name + ".weight_scale", "F8_E4M3", [rows, cols // 16], b"\x38\x30"),
            (name + ".weight_scale_2", "F32", [], b"\x00\x3c"), (name + ".input_scale", "F32", [], b"\x00\x3c")]


def tensors(layers, nvfp4):
    plain, experts = ("BF16", "NVFP4") if nvfp4 else ("F16", "F16")
    wide = {"q": (4096, HIDDEN), "k": (512, HIDDEN), "v": (512, HIDDEN), "o": (HIDDEN, 4096)}
    yield from linear("model.embed_tokens", VOCAB, HIDDEN, plain)
    yield from linear("lm_head", VOCAB, HIDDEN, plain)
    yield "model.norm.weight", plain, [HIDDEN], b"\x00\x3c"
    for i in range(layers):
        at = f"model.layers.{i}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"{at}{norm}.weight", plain, [HIDDEN], b"\x00\x3c"
        for norm in ("q_norm", "k_norm"):
            yield f"{at}self_attn.{norm}.weight", plain, [128], b"\x00\x3c"
        for name, (rows, cols) in wide.items():
            yield from linear(f"{at}self_attn.{name}_proj", rows, cols, plain)
        yield from linear(at + "mlp.gate", EXPERTS, HIDDEN, plain)
        for e in range(EXPERTS):
            for name in ("gate", "up"):
                yield from linear(f"{at}mlp.experts.{e}.{name}_proj", INTER, HIDDEN, experts)
            yield from linear(f"{at}mlp.experts.{e}.down_proj", HIDDEN, INTER, experts)


def write(folder, gigabytes, nvfp4):
    size = {"F16": 2, "BF16": 2, "U8": 1, "F8_E4M3": 1, "F32": 4}
    layers = max(1, round(gigabytes * 1e9 / (3 * EXPERTS * HIDDEN * INTER * (0.5625 if nvfp4 else 2))))
    config = {**CONFIG, "num_hidden_layers": layers, "torch_dtype": "bfloat16" if nvfp4 else "float16"}
    if nvfp4:
        config["quantization_config"] = NVFP4
    header, fills, end = {}, [], 0
    for name, dtype, shape, fill in tensors(layers, nvfp4):
        count = size[dtype]
        for extent in shape:
            count *= extent
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + count]}
        fills.append((fill, count // 2))
        end += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for fill, count in fills:
            file.write(fill * count)
    return end


def read_limit(path, threads):
    size = os.path.getsize(path)

    def part(i):
        buffer = memoryview(bytearray(1 << 18))
        with open(path, "rb", buffering=0) as file:
            file.seek(size * i // threads)
            left = size * (i + 1) // threads - size * i // threads
            while left > 0:
                left -= file.readinto(buffer[:left])
    with ThreadPoolExecutor(threads) as pool:
        begin = time.monotonic()
        list(pool.map(part, range(threads)))
    return size / (time.monotonic() - begin) / 1e9


def load(program, folder, threads):
    """Seconds as the program says, the most memory in use, and of the whole process with one token seconds and processor seconds."""
    begin = time.monotonic()
    process = subprocess.Popen([program, "run", folder, "--ids", "5", "--skip-tokenizer-init", "--max-tokens", "1", "--threads",
                                str(threads)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(words)
    return float(re.search(r"loaded in ([\d.]+) s", words)[1]), usage.ru_maxrss * 1024, time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--gb", type=float, default=2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for nvfp4 in (True, False):
            folder = Path(place) / "model"
            size = write(folder, options.gb, nvfp4)
            print(f"{'nvfp4' if nvfp4 else 'float16'}, {size / 1e9:.2f} GB")
            for threads in options.threads:
                limit = max(read_limit(folder / "model.safetensors", threads) for _ in range(options.runs))
                print(f"  {threads} thread{'s' if threads > 1 else ''}: limit {limit:.1f} GB/s, {size / limit / 1e9:.2f} s")
                results = [[load(program, folder, threads) for program in options.programs] for _ in range(options.runs)]
                for i, program in enumerate(options.programs):
                    seconds, memory, whole, processor = (sorted(run[i][k] for run in results)[options.runs // 2] for k in range(4))
                    print(f"    {program}: {seconds:.2f} s, {size / seconds / 1e9:.1f} GB/s, "
                          f"at most {memory / 1e9:.2f} GB in memory; whole process {whole:.2f} s, "
                          f"processor {processor:.2f} s")
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()


main()
