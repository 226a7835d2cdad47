"""What is shown while a model is loaded, and how to end that."""
import json
import re
import signal
import struct
import subprocess
import time
from pathlib import Path

from harness import BF16, PATIENCE, PROGRAM, Program, Terminal, environment

LAYERS, HIDDEN, INTER, EXPERTS, VOCAB = 60, 1024, 1024, 8, 512
IDS = ["--ids", "5", "--skip-tokenizer-init", "--threads", "1"]


def write_large_model(folder):
    """3 GB of float16 zeros that take no room on the disk and seconds to repack."""
    config = json.loads((BF16 / "config.json").read_text())
    config.update(dtype="float16", num_hidden_layers=LAYERS, hidden_size=HIDDEN, moe_intermediate_size=INTER, head_dim=256,
                  num_local_experts=EXPERTS, num_key_value_heads=4, vocab_size=VOCAB)
    tensors = {"model.embed_tokens": [VOCAB, HIDDEN], "lm_head": [VOCAB, HIDDEN], "model.norm": [HIDDEN]}
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        tensors |= {f"{at}{n}": [HIDDEN] for n in ("input_layernorm", "post_attention_layernorm")}
        tensors |= {f"{at}self_attn.{n}": [256] for n in ("q_norm", "k_norm")}
        tensors |= {f"{at}self_attn.{n}_proj": [HIDDEN, HIDDEN] for n in "qkvo"}
        tensors[at + "mlp.gate"] = [EXPERTS, HIDDEN]
        for e in range(EXPERTS):
            tensors |= {f"{at}mlp.experts.{e}.{n}_proj": [INTER, HIDDEN] for n in ("gate", "up", "down")}
    header, end = {}, 0
    for name, shape in tensors.items():
        begin, end = end, end + 2 * shape[0] * (shape[1] if len(shape) == 2 else 1)
        header[name + ".weight"] = {"dtype": "F16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    return folder


class Loading(Terminal):
    def test_a_bar_with_speed_and_time_left_until_ctrl_c(self):
        model = write_large_model(self.folder / "large")
        for command in ("run", "logits"):
            process = self.start(command, model, *IDS)
            match = self.wait_for(r"Loading \[(=* *)\] +(\d+) %  (\d+\.\d\d) GB/s  (\d+) s left")
            bar, share, speed = match[1], int(match[2]), float(match[3])
            self.assertEqual(len(bar), 30)
            self.assertAlmostEqual(bar.count("=") / 30, share / 100, delta=0.04)
            self.assertGreater(share, 0)
            self.assertGreater(speed, 0)
            self.press(b"\x03")
            self.wait_for("\x1b\\[Kconclave: interrupted while loading the model")  # where the bar was
            self.assertEqual(process.wait(PATIENCE), 130)


class Elsewhere(Program):
    def resident(self, process):
        return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())[1]) * 1024

    def test_no_bar_where_there_is_no_terminal(self):
        model = write_large_model(self.folder / "large")
        process = subprocess.Popen([PROGRAM, "run", model, *IDS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment(), cwd=self.cwd)
        deadline = time.monotonic() + PATIENCE
        while self.resident(process.pid) < 1e9 and time.monotonic() < deadline:  # a third of the model: longer than a bar waits
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, words = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (130, b""))
        self.assertEqual(words, b"conclave: interrupted while loading the model\n")
