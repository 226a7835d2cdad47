"""conclave check: problems, sizes and plans, for people and for scripts."""
import json
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

from harness import BF16, NVFP4, PATIENCE, PROGRAM, SANITIZED, SOURCE, TINYMOE, Program, edit_header, environment

CONFIGS = SOURCE / "tests" / "data" / "configs"


class Check(Program):
    def published(self, name):
        folder = self.folder / name
        folder.mkdir()
        shutil.copy(CONFIGS / f"{name}.json", folder / "config.json")
        return folder

    def report(self, *words):
        return json.loads(self.succeed("check", *words, "--json").stdout)

    def test_a_sound_model(self):
        for words in ([], [NVFP4], [BF16], [NVFP4, "--deep"]):
            text = self.succeed("check", *words).stdout
            self.assertIn("No problems", text)
            self.assertRegex(text, r"\* cpu_(latency|pipeline): can")
        decisions = self.report(NVFP4)["devices"][0]["decisions"]
        self.assertTrue(any(reason.startswith("* cpu_latency: can") for reason in decisions[1]["reasons"]), decisions)
        self.assertIn("gate and up have different global scales in 24 of 24 experts; each half keeps its own", text)

    def test_b027_missing_unknown_and_misshaped_tensors_are_all_told(self):
        folder = self.folder / "broken"
        shutil.copytree(NVFP4, folder)

        def change(header):
            for expert in range(30):
                name = f"model.layers.{expert % 3}.mlp.experts.{expert % 8}.up_proj.weight"
                if name in header:
                    header[name + "_odd"] = header.pop(name)
            header["model.norm.weight"]["shape"].insert(0, 1)

        edit_header(folder / "model.safetensors", change)
        done = self.run_program("check", folder, "--json")
        self.assertEqual(done.returncode, 1)
        problems = json.loads(done.stdout)["problems"]
        self.assertEqual(sum(p.startswith("model.norm.weight: expected [256]") for p in problems), 1)
        self.assertEqual(sum("up_proj.weight_odd is in the checkpoint" in p for p in problems), 24)
        self.assertEqual(sum("up_proj" in p and "missing" in p for p in problems), 24)

    def test_b005_deep_reads_the_scales(self):
        folder = self.folder / "broken"
        shutil.copytree(NVFP4, folder)
        file = folder / "model.safetensors"
        data = bytearray(file.read_bytes())
        (length,) = struct.unpack("<Q", data[:8])
        name = "model.layers.1.mlp.experts.5.down_proj.weight_scale_2"
        at = 8 + length + json.loads(data[8:8 + length])[name]["data_offsets"][0]
        data[at:at + 4] = struct.pack("<f", float("inf"))
        file.write_bytes(data)
        self.assertIn("No problems of names, types and shapes", self.succeed("check", folder).stdout)
        self.assertIn("other values are looked at when the model is loaded", self.succeed("check", NVFP4, "--deep").stdout)
        done = self.run_program("check", folder, "--deep")
        self.assertEqual(done.returncode, 1)
        self.assertIn(name, done.stdout)

    def test_sizes_are_what_the_makers_say(self):
        for name, total, active in (("gpt-oss-20b", 20.9, 3.6), ("qwen3-30b-a3b", 30.5, 3.3), ("deepseek-r1", 671, 37),
                                    ("nemotron-nano-9b-v2", 8.89, 8.89), ("nemotron-3-nano-30b-a3b", 31.6, 3.6)):
            report = self.report(self.published(name), "--load-format", "dummy")
            self.assertAlmostEqual(report["parameters"] / 1e9, total, delta=0.01 * total)
            self.assertAlmostEqual((report["active_parameters"]) / 1e9, active, delta=0.17 * active)

    def test_b015_sizes_that_cut_a_block_are_refused_with_the_reason(self):
        folder = self.published("qwen3-30b-a3b")
        config = json.loads((folder / "config.json").read_text())
        config |= {"moe_intermediate_size": 320, "num_hidden_layers": 2,
                   "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}}
        (folder / "config.json").write_text(json.dumps(config))
        sizes = {s["ranks"]: s for s in self.report(folder, "--load-format", "dummy")["tensor_parallel"]}
        self.assertEqual(sizes[1]["problems"], [])
        for ranks in (2, 4, 8):
            self.assertIn(f"its 320 rows give each rank {320 // ranks}, no multiple of the 128", str(sizes[ranks]["problems"]))
            self.assertNotIn("weight_bytes_per_rank", sizes[ranks])

    def test_b066_every_device_has_kernels_or_a_reason(self):
        names = ["scalar", "avx2", "avx512", "sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121"]
        words = [word for name in names for word in ("--device", name)]
        dense = [self.published("llama-3.3-70b-fp4"), "--load-format", "dummy"]
        for model in ([NVFP4], [BF16], dense):
            devices = self.report(*model, *words)["devices"]
            self.assertEqual([d["device"] for d in devices[1:]], names)
            for device in devices:
                self.assertNotEqual(device["runs"], bool(device["refusal"]))
                self.assertEqual(device["runs"], bool(device["decisions"]))
            self.assertTrue(all(d["runs"] for d in devices[:4]))
            self.assertTrue(all("CUDA" in d["refusal"] for d in devices[4:]))
            self.assertEqual([d["decisions"][0]["what"] for d in devices[1:4]], ["cpu-scalar", "cpu-avx2", "cpu-avx512"])

    def test_deep_is_advised_only_where_there_are_scales(self):
        self.assertIn("--deep looks at the values", self.succeed("check", NVFP4).stdout)
        for words in ([BF16], [NVFP4, "--load-format", "dummy"]):
            self.assertNotIn("--deep", self.succeed("check", *words).stdout)

    def test_what_was_not_read_is_not_told(self):
        self.assertIn("KV scales: 3 of 3 layers published (such as", self.succeed("check", NVFP4).stdout)
        self.assertIn("KV scales: 3 of 3 layers published (k 0.01118", self.succeed("check", NVFP4, "--deep").stdout)

    def test_memory_of_ranks(self):
        report = self.report(NVFP4)
        experts = sum(f["bytes"] for kind, f in report["formats"].items() if kind.startswith("experts"))
        for rank in report["expert_parallel"]:
            if rank["ranks"] <= 8:  # experts
                self.assertEqual(rank["weight_bytes_per_rank"], report["weight_bytes"] - experts + experts // rank["ranks"])
        one, two, four = report["tensor_parallel"][:3]
        self.assertEqual(one["weight_bytes_per_rank"], report["weight_bytes"])
        self.assertGreater(2 * two["weight_bytes_per_rank"], report["weight_bytes"])  # routers and norms are whole
        self.assertEqual(four["kv_values_per_token_per_rank"] * 2, report["kv_values_per_token"])  # 2 heads, 2 ranks have each
        self.assertIn(f"{two['weight_bytes_per_rank'] / 1e9:.3f} GB of weights", self.succeed("check", NVFP4).stdout)

    def test_workspace_of_ranks(self):
        report = self.report(NVFP4)
        self.assertEqual(report["step"], {"tokens": 512, "logits_rows": 64, "context": 512})
        one, two = (size["workspace_bytes_per_rank"] for size in report["tensor_parallel"][:2])
        self.assertTrue(one / 2 < two < one)
        self.assertEqual([s["workspace_bytes_per_rank"] for s in report["expert_parallel"][:4]], [one] * 4)
        text = self.succeed("check", NVFP4).stdout
        self.assertIn(f"{two / 1e9:.3f} GB of workspace", text)
        self.assertIn("of at most 512 tokens, 64 rows of logits and a context of 512", text)
        words = ["--max-num-seqs", "100", "--max-num-batched-tokens", "1024", "--max-model-len", "400"]
        larger = self.report(NVFP4, *words)
        self.assertEqual(larger["step"], {"tokens": 1024, "logits_rows": 100, "context": 400})
        self.assertGreater(larger["tensor_parallel"][0]["workspace_bytes_per_rank"], 1.5 * one)
        self.fail_with(2, "max_model_len is 5000, and this model's context has 512", "check", NVFP4, "--max-model-len", "5000")
        self.fail_with(2, "max_num_batched_tokens (5) must be at least", "check", NVFP4, "--max-num-batched-tokens", "5",
                       "--max-num-seqs", "9")

    def fixture(self, name, **files):
        """A copy of NVFP4; file names with '__' for '.', null for one that is not there."""
        folder = self.folder / name
        shutil.copytree(NVFP4, folder)
        for file, text in files.items():
            path = folder / file.replace("__", ".")
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(text)
        return folder

    def test_missing_text_files_are_noted_with_what_that_means(self):
        folder = self.fixture("bare", tokenizer__json=None, tokenizer_config__json=None, chat_template__jinja=None,
                              generation_config__json=None)
        notes = self.report(folder)["notes"]
        for words in ("no tokenizer.json: `run` takes and gives token ids", "no chat template", "no generation_config.json"):
            self.assertEqual(sum(words in note for note in notes), 1, notes)
        self.assertEqual(self.report(TINYMOE / "nvfp4")["problems"], [])
        self.assertFalse([n for n in self.report(TINYMOE / "nvfp4")["notes"] if "no tokenizer" in n or "template" in n])

    def test_broken_text_files_are_problems_in_one_run(self):
        folder = self.folder / "broken"
        shutil.copytree(TINYMOE / "nvfp4", folder)
        (folder / "tokenizer.json").write_text('{"model": {"type": "Frob"}}')
        (folder / "chat_template.jinja").write_text("{% if %}")
        (folder / "generation_config.json").write_text("[]")
        (folder / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}x")
        done = self.run_program("check", folder, "--json")
        self.assertEqual(done.returncode, 1)
        problems = json.loads(done.stdout)["problems"]
        for words in ("tokenizer.json", "template", "generation_config.json: expected an object",
                      "model.safetensors: the last 1 bytes"):
            self.assertTrue(any(words in problem for problem in problems), (words, problems))
        self.assertIn(f"{len(problems)} problems:", self.run_program("check", folder).stdout)
        (folder / "generation_config.json").write_text('{"temperature": 7}')
        notes = json.loads(self.run_program("check", folder, "--json").stdout)["notes"]
        self.assertTrue(any("temperature is 7 and is not used" in note for note in notes), notes)

    def test_what_a_run_would_be_refused_for_is_a_problem_of_check(self):
        """The same words: both use the same parsers."""
        folder = self.folder / "broken"
        shutil.copytree(TINYMOE / "nvfp4", folder)
        for name, text in (("tokenizer.json", "{"), ("chat_template.jinja", "{{ 1 +"), ("tokenizer_config.json", "[1]"),
                           ("generation_config.json", "nonsense")):
            there = (folder / name).read_bytes() if (folder / name).exists() else None
            (folder / name).write_text(text)
            said = self.run_program("run", "-m", folder, "x").stderr.removeprefix("conclave: ").strip()
            problems = json.loads(self.run_program("check", folder, "--json").stdout)["problems"]
            self.assertTrue(any(problem.strip() in said for problem in problems), (name, said, problems))
            self.assertEqual(len(problems), len(set(problems)), "a problem is told twice")
            (folder / name).unlink() if there is None else (folder / name).write_bytes(there)

    def test_a_template_that_takes_no_lone_question_is_noted(self):
        folder = self.fixture("picky", chat_template__jinja="{{ raise_exception('only systems') }}")
        self.assertTrue(any("does not take a lone question" in n and "only systems" in n for n in self.report(folder)["notes"]))

    def test_a_tokenizer_wider_than_the_model_is_noted(self):
        folder = self.fixture("narrow")
        shutil.copy(TINYMOE / "nvfp4" / "tokenizer.json", folder)
        config = json.loads((folder / "config.json").read_text())
        tokens = json.loads((folder / "tokenizer.json").read_text())
        size = 1 + max([*tokens["model"]["vocab"].values(), *(t["id"] for t in tokens["added_tokens"])])
        found = [n for n in self.report(folder)["notes"] if "the tokenizer has ids up to" in n]
        self.assertGreater(size, config["vocab_size"])
        self.assertEqual(len(found), 1, found)

    def test_all_problems_of_headers_are_listed(self):
        folder = self.fixture("broken")

        def change(header):
            for entry in header.values():
                if "shape" in entry:
                    entry["shape"] = [*entry["shape"], 3]

        edit_header(folder / "model.safetensors", change)
        done = self.run_program("check", folder, "--json")
        problems = json.loads(done.stdout)["problems"]
        self.assertGreater(len(problems), 100)
        self.assertTrue(all("\n" not in problem for problem in problems))
        self.assertTrue(all("model.safetensors: tensor '" in problem for problem in problems), problems[-3:])
        text = self.run_program("check", folder).stdout
        self.assertIn(f"{len(problems)} problems:", text)
        self.assertIn(f"and {len(problems) - 50} more; --json lists all", text)

    def test_ctrl_c_ends_it(self):
        for json_too in ([], ["--json"]):
            process = subprocess.Popen([PROGRAM, "check", self.published("deepseek-r1"), "--load-format", "dummy", *json_too],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                                       cwd=self.cwd)
            self.wait_for_handler(process.pid)
            process.send_signal(signal.SIGINT)
            out, words = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, out), (130, b""))
            self.assertEqual(words, b"conclave: interrupted while checking the model\n")
            shutil.rmtree(self.folder / "deepseek-r1")

    def wait_for_handler(self, process):
        """Until SIGINT is counted, which is before anything is read."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            caught = re.search(r"SigCgt:\s+(\w+)", Path(f"/proc/{process}/status").read_text())[1]
            if int(caught, 16) & (1 << (signal.SIGINT - 1)):
                return
            time.sleep(0.001)
        self.fail("SIGINT was never counted")

    def test_a_hostile_configuration_is_refused_at_once(self):
        folder = self.published("qwen3-30b-a3b")
        config = json.loads((folder / "config.json").read_text())
        for change in ({"num_experts": 4096, "moe_intermediate_size": 1 << 24, "hidden_size": 1 << 24},
                       {"num_experts": 4096, "num_hidden_layers": 4096}):
            (folder / "config.json").write_text(json.dumps(config | change))
            done = self.run_program("check", folder, "--load-format", "dummy", "--json")
            self.assertEqual(done.returncode, 1)
            self.assertIn("config.json", json.loads(done.stdout)["problems"][0])

    def test_names_of_tensors_do_not_reach_the_terminal_as_they_are(self):
        folder = self.folder / "evil"
        shutil.copytree(NVFP4, folder)
        edit_header(folder / "model.safetensors",
                    lambda header: header.update({"\x1b[31mevil": header.pop("model.norm.weight")}))
        for command in ("check", "inspect"):
            done = self.run_program(command, folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("evil", done.stdout + done.stderr)
            self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_a_script_always_gets_its_object(self):
        done = self.run_program("check", self.cwd, "--json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(sum("there is no config.json" in p for p in json.loads(done.stdout)["problems"]), 1)

    def test_missing_weights_do_not_hide_a_bad_configuration(self):
        folder = self.published("mixtral-8x7b")
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"hidden_act": "gelu"}))
        done = self.run_program("check", "--device", "sm_90", folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("holds no weights", done.stdout)
        self.assertIn("hidden_act", done.stdout)

    def test_wrong_words(self):
        self.fail_with(2, "sm_91", "check", NVFP4, "--device", "sm_91")
        self.fail_with(2, "sm_80 is a device; for several write --device A,sm_80", "check", "--device", "sm_90", "sm_80", NVFP4)

    def test_devices_in_any_order(self):
        for words in (["--device", "sm_90,sm_80", NVFP4], [NVFP4, "--device", "sm_90", "--device", "sm_80"],
                      ["--device", "sm_90", NVFP4, "--device", "sm_80"]):
            self.assertEqual([d["device"] for d in self.report(*words)["devices"][1:]], ["sm_90", "sm_80"])

    def test_a_type_that_is_unknown_is_one_problem_with_one_name(self):
        folder = self.fixture("new_types")
        names = ("model.norm.weight", "model.layers.0.self_attn.q_proj.weight", "model.layers.1.mlp.experts.2.up_proj.weight")

        def change(header):
            for name in names:
                header[name]["dtype"] = "F99"

        edit_header(folder / "model.safetensors", change)
        problems = json.loads(self.run_program("check", folder, "--json").stdout)["problems"]
        self.assertEqual(len(problems), 3, problems)
        for name in names:
            self.assertEqual(sum(problem.count(name) for problem in problems), 1, problems)

    def test_headers_are_read_and_no_weights_mapped(self):
        """A model of 4 TB of zeros, in 2 GB of addresses."""
        folder = self.published("qwen3-30b-a3b")
        config = json.loads((folder / "config.json").read_text()) | {"num_hidden_layers": 1, "num_experts": 8}
        (folder / "config.json").write_text(json.dumps(config))
        header = {"much": {"dtype": "U8", "shape": [1 << 42], "data_offsets": [0, 1 << 42]}}
        text = json.dumps(header).encode()
        with open(folder / "model.safetensors", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            try:
                file.truncate(8 + len(text) + (1 << 42))
            except OSError as e:
                self.skipTest(f"no file of 4 TB can be made here: {e}")
        limit = 2 << 30
        for command, words in (("check", "much is in the checkpoint and Qwen3MoeForCausalLM has no place for it"),
                               ("inspect", "'model.embed_tokens.weight' is missing")):
            done = subprocess.run([PROGRAM, command, folder], capture_output=True, text=True, env=environment(), cwd=self.cwd,
                                  timeout=PATIENCE, check=False,
                                  preexec_fn=None if SANITIZED else lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stdout + done.stderr)
            self.assertNotIn("cannot map", done.stdout + done.stderr)
