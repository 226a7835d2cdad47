"""--load-format dummy: the published models from their config.json alone, cut to a few layers."""
import json

from harness import BF16, SOURCE, Program

CONFIGS = SOURCE / "tests" / "data" / "configs"
# Widths are the published ones but for these, so that each takes seconds and less than 2 GB.
SMALL = {"num_hidden_layers": 2, "vocab_size": 1024, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
CUTS = {
    "deepseek-r1": {"first_k_dense_replace": 1, "intermediate_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
                    "n_routed_experts": 8, "n_group": 4, "topk_group": 2, "num_experts_per_tok": 2},
    "gpt-oss-20b": {"num_local_experts": 4},
    "gpt-oss-120b": {"num_local_experts": 8},
    "llama-3.3-70b-fp4": {"intermediate_size": 4096},
    "llama-4-maverick": {"num_local_experts": 2, "intermediate_size": 2048, "intermediate_size_mlp": 4096},
    "llama-4-scout": {"num_local_experts": 2, "intermediate_size": 2048},
    "minimax-m2": {"num_local_experts": 8},
    "mixtral-8x7b": {"num_local_experts": 2, "intermediate_size": 3584},
    # Mixer, experts, attention, experts: two layers would leave out one of the three.
    "nemotron-3-nano-30b-a3b": {"num_hidden_layers": 4, "hybrid_override_pattern": "ME*E", "n_routed_experts": 16},
    "nemotron-nano-9b-v2": {"num_hidden_layers": 3, "hybrid_override_pattern": "M-*"},
    "qwen1.5-moe-a2.7b": {"num_experts": 8},
    "qwen3-30b-a3b": {"num_experts": 16},
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

    def test_a_model_beyond_memory_is_refused_with_both_numbers(self):
        folder = self.folder / "r1"
        folder.mkdir()
        (folder / "config.json").write_bytes((CONFIGS / "deepseek-r1.json").read_bytes())
        for words in (["logits", folder, "--ids", "1"], ["run", folder, "--ids", "1", "--skip-tokenizer-init"]):
            done = self.fail_with(1, "its weights take 68", *words, "--load-format", "dummy")
            self.assertRegex(done.stderr, r"take 68\d\.\d+ GB and this process may use \d+\.\d+ GB")
        self.assertIn("GB and this process may use", self.run_program("check", folder, "--load-format", "dummy").stdout)
