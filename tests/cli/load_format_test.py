"""--load-format dummy: the published models from their config.json alone, cut to a few layers."""
import json
import os
import resource
import shutil
import subprocess
import unittest

from harness import BF16, NVFP4, PATIENCE, PROGRAM, SANITIZED, SOURCE, Program, edit_header, environment

CONFIGS = SOURCE / "tests" / "data" / "configs"
# Widths are the published ones but for these, so that each takes seconds and less than 2 GB.
SMALL = {"num_hidden_layers": 2, "vocab_size": 1024, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
CUTS = {
    "deepseek-r1": {"first_k_dense_replace": 1, "intermediate_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
                    "n_routed_experts": 8, "n_group": 4, "topk_group": 2, "num_experts_per_tok": 2},
    "glm-4.5-air": {"intermediate_size": 4096, "n_routed_experts": 8},
    "glm-4.6": {"first_k_dense_replace": 1, "intermediate_size": 4096, "n_routed_experts": 8},
    "gpt-oss-20b": {"num_local_experts": 4},
    "gpt-oss-120b": {"num_local_experts": 8},
    "llama-3.3-70b-fp4": {"intermediate_size": 4096},
    "llama-4-maverick": {"num_local_experts": 2, "intermediate_size": 2048, "intermediate_size_mlp": 4096},
    "llama-4-scout": {"num_local_experts": 2, "intermediate_size": 2048},
    "minimax-m2": {"num_local_experts": 8},
    "mistral-7b-v0.3": {"intermediate_size": 4096},
    "mixtral-8x7b": {"num_local_experts": 2, "intermediate_size": 3584},
    # Mixer, experts, attention, experts: two layers would leave out one of the three.
    "nemotron-3-nano-30b-a3b": {"num_hidden_layers": 4, "hybrid_override_pattern": "ME*E", "n_routed_experts": 16},
    "nemotron-nano-9b-v2": {"num_hidden_layers": 3, "hybrid_override_pattern": "M-*"},
    "qwen1.5-moe-a2.7b": {"num_experts": 8},
    "qwen2.5-7b": {"intermediate_size": 4096},
    "qwen3-30b-a3b": {"num_experts": 16},
    "qwen3-8b": {"intermediate_size": 4096},
}


class LoadFormat(Program):
    def cut(self, name):
        folder = self.folder / name
        folder.mkdir()
        config = json.loads((CONFIGS / f"{name}.json").read_text())
        config.get("text_config", config).update({**SMALL, **CUTS[name]})
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    def test_every_published_model_runs_without_its_weights(self):
        self.assertEqual(sorted(CUTS), sorted(path.stem for path in CONFIGS.glob("*.json")))
        for name in CUTS:
            with self.subTest(name):
                text = self.succeed("logits", self.cut(name), "--load-format", "dummy", "--ids", "5,17,42").stdout
                self.assertEqual(text.count("most likely next"), 3)
                self.assertNotIn("nan", text)

    def test_the_same_numbers_every_time(self):
        folder = self.cut("qwen3-30b-a3b")
        words = ("logits", folder, "--load-format", "dummy", "--ids", "5,17,42", "--new", "4")
        self.assertEqual(self.succeed(*words).stdout, self.succeed(*words).stdout)
        generated = self.succeed("run", folder, "--load-format", "dummy", "--ids", "5,17,42", "--skip-tokenizer-init", "--max-tokens",
                                 "4", "--temperature", "0", "--ignore-eos").stdout
        self.assertTrue(generated.strip())

    def test_inspect_counts_parameters_without_weights(self):
        folder = self.folder / "r1"
        folder.mkdir()
        (folder / "config.json").write_bytes((CONFIGS / "deepseek-r1.json").read_bytes())
        text = self.succeed("inspect", folder, "--load-format", "dummy", "--tensors").stdout
        for word in ("671.03 billion parameters", "70272 bytes per token", "model.layers.60.mlp.experts.255.up_proj.weight_scale_inv"):
            self.assertIn(word, text)

    def test_a_folder_without_weights_is_refused_unless_asked_for(self):
        self.fail_with(1, ["holds no weights", "--load-format dummy"], "logits", self.cut("gpt-oss-20b"), "--ids", "1")
        self.assertNotEqual(self.run_program("logits", BF16, "--ids", "1", "--load-format", "fast").returncode, 0)

    def limited(self, megabytes, *words):
        """The finished process, which may take so much memory."""
        most = megabytes << 20
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, env=environment(),
                              cwd=self.cwd, check=False, stdin=subprocess.DEVNULL,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))

    @unittest.skipIf(SANITIZED, "a sanitizer takes terabytes of addresses before the program begins: no limit can be set")
    def test_stand_ins_beyond_memory_are_refused_with_all_numbers(self):
        folder = self.folder / "r1"
        folder.mkdir()
        (folder / "config.json").write_bytes((CONFIGS / "deepseek-r1.json").read_bytes())
        for words in (["logits", folder, "--ids", "1"], ["run", folder, "--ids", "1", "--skip-tokenizer-init"]):
            done = self.limited(4096, *words, "--load-format", "dummy")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"the weights take 67\d\.\d+ GB, the KV cache .* 0\.000 GB, .* may use [34]\.\d+ GB of memory")
        done = self.limited(4096, "check", folder, "--load-format", "dummy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"note: the weights take 67\d\.\d+ GB and this process may use [34]\.\d+ GB of memory")

    @unittest.skipIf(SANITIZED, "a sanitizer takes terabytes of addresses before the program begins: no limit can be set")
    def test_a_cache_beside_the_weights_counts(self):
        folder = self.cut("qwen3-30b-a3b")  # 2 layers: 4 KB of cache per token in bf16
        words = ["run", folder, "--load-format", "dummy", "--ids", "1", "--skip-tokenizer-init", "--max-tokens", "1"]
        for asked, gigabytes in ((["--max-model-len", "40960"], "0.168"), (["--max-model-len", "40960", "--kv-cache-dtype", "fp8"], "0.084")):
            done = self.limited(200, *words, *asked)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"the KV cache that was asked for {gigabytes} GB", done.stderr)

    def test_files_beyond_memory_are_warned_of(self):
        folder = self.folder / "large"
        shutil.copytree(NVFP4, folder)
        extra = 1 << 42  # more than any machine's memory, and a hole in the file
        file = folder / "model.safetensors"

        def add_tensor(header):
            end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
            header["model.layers.0.self_attn.rotary_emb.inv_freq"] = {"dtype": "U8", "shape": [extra],
                                                                      "data_offsets": [end, end + extra]}
        edit_header(file, add_tensor)
        try:
            os.truncate(file, file.stat().st_size + extra)
        except OSError as error:
            self.skipTest(f"this file system has no files of 4 TB: {error}")
        done = self.succeed("logits", folder, "--ids", "5")
        self.assertRegex(done.stderr, r"the weights take 4398\.\d+ GB and this process may use \d+\.\d+ GB of memory")
        self.assertRegex(self.succeed("logits", NVFP4, "--ids", "5").stderr, "^$")
