"""conclave bench: what it refuses, the fields of its JSON, and figures that must agree with one another. Never how fast it is."""
import json
import re
import shutil
import signal

from harness import BF16, NVFP4, Program, Terminal, environment

FEW = ["--input-len", "8", "--output-len", "4", "--num-iters", "3", "--num-iters-warmup", "0"]
LIMITS = {"memory_read_bytes_per_second", "float32_operations_per_second", "int8_operations_per_second"}


class Bench(Program):
    def measure(self, *words):
        return json.loads(self.succeed("bench", *words, "--json").stdout)

    def assert_spread(self, spread):
        self.assertEqual(set(spread), {"median", "min", "max"})
        self.assertGreater(spread["min"], 0)
        self.assertLessEqual(spread["min"], spread["median"])
        self.assertLessEqual(spread["median"], spread["max"])

    def assert_limits(self, limits):
        self.assertEqual(set(limits), LIMITS)
        for spread in limits.values():
            self.assert_spread(spread)


class Latency(Bench):
    def test_fields_agree(self):
        """Of the built-in model: a decode step reads its dense weights and 4 of 16 experts."""
        steps = []
        for batch in (1, 3):
            got = self.measure("latency", *FEW, "--batch-size", str(batch))
            self.assertEqual((got["num_prompts"], got["input_len"], got["output_len"], got["num_iters"]), (batch, 8, 4, 3))
            for name in ("latency_seconds", "ttft_seconds", "tpot_seconds", "prefill_tokens_per_second", "decode_tokens_per_second"):
                self.assert_spread(got[name])
            self.assert_limits(got["limits"])
            self.assertAlmostEqual(got["decode_tokens_per_second"]["median"] * got["tpot_seconds"]["median"], batch, places=6)
            self.assertAlmostEqual(got["decode_tokens_per_second"]["max"] * got["tpot_seconds"]["min"], batch, places=6)
            self.assertGreaterEqual(got["latency_seconds"]["max"], got["ttft_seconds"]["max"])
            read = got["decode_read"]
            self.assertAlmostEqual(read["bytes"] / got["tpot_seconds"]["median"], read["bytes_per_second"], delta=1)
            self.assertAlmostEqual(read["share_of_memory_limit"] * got["limits"]["memory_read_bytes_per_second"]["median"],
                                   read["bytes_per_second"], delta=1)
            steps.append(read["bytes"])
        # Of 16 experts 4 or, on average, 16 * (1 - 0.75^3): 384 matrices of 128 x 256 in NVFP4, 9 bytes for 16 weights.
        self.assertAlmostEqual(steps[1] - steps[0], 384 * 128 * 256 / 16 * 9 * (0.75 - 0.75 ** 3), delta=1)
        self.assertLess(steps[1], got["weight_bytes"])

    def test_one_token_has_no_decode(self):
        got = self.measure("latency", *[w if w != "4" else "1" for w in FEW])
        self.assertNotIn("tpot_seconds", got)
        self.assertNotIn("decode_read", got)
        self.assert_spread(got["ttft_seconds"])

    def test_dummy_weights_and_no_tokenizer_are_enough(self):
        shutil.copy(BF16 / "config.json", self.folder)
        got = self.measure("latency", self.folder, "--load-format", "dummy", *FEW, "--threads", "1")
        self.assertEqual(got["threads"], 1)
        self.assertEqual(got["model"], str(self.folder))

    def test_for_people(self):
        done = self.succeed("bench", "latency", *FEW)
        for words in ("median", "prefill, tokens/s", "time per output token, ms", "limit: memory read, GB/s", "% of the memory limit",
                      "cpu_latency"):
            self.assertIn(words, done.stdout)
        self.assertEqual(done.stderr, "")


class Throughput(Bench):
    def test_fields_agree(self):
        got = self.measure("throughput", *FEW, "--num-prompts", "5", "--max-num-seqs", "2")
        self.assertEqual((got["num_prompts"], got["max_num_seqs"]), (5, 2))
        self.assert_limits(got["limits"])
        requests = got["requests_per_second"]["median"]
        self.assertAlmostEqual(requests * got["elapsed_seconds"]["median"], 5, places=6)
        self.assertAlmostEqual(got["tokens_per_second"]["median"], requests * 12, delta=1e-6 * requests * 12)
        self.assertAlmostEqual(got["output_tokens_per_second"]["median"], requests * 4, delta=1e-6 * requests * 4)
        compute = got["compute"]
        self.assertAlmostEqual(compute["operations"] / got["elapsed_seconds"]["median"], compute["operations_per_second"],
                               delta=1e-6 * compute["operations_per_second"])


class Experts(Bench):
    def test_a_model_s_layer(self):
        """Hidden and width of the fixture, in its own format and in another."""
        for words, form in (([], "nvfp4"), (["--format", "bf16"], "bf16")):
            got = self.measure("moe", NVFP4, "--tokens", "1,3", "--num-iters", "2", *words)
            self.assertEqual(got["format"], form)
            self.assertEqual([call["tokens"] for call in got["calls"]], [1, 3])
            self.assert_limits(got["limits"])
            self.assertGreater(got["copies"], 1)
            top_k = int(re.search(r"top (\d+)", got["problem"])[1])
            experts = int(re.match(r"(\d+) experts", got["problem"])[1])
            for call in got["calls"]:
                self.assert_spread(call["seconds"])
                self.assertGreaterEqual(call["active_experts"], top_k)
                self.assertLessEqual(call["active_experts"], min(experts, top_k * call["tokens"]))
                self.assertAlmostEqual(call["read"]["bytes"], got["layer_bytes"] / experts * call["active_experts"], delta=1)
                self.assertAlmostEqual(call["read"]["bytes_per_second"] * call["seconds"]["median"], call["read"]["bytes"], delta=1)
            self.assertEqual(got["calls"][0]["active_experts"], top_k)
            self.assertAlmostEqual(got["calls"][1]["compute"]["operations"], 3 * got["calls"][0]["compute"]["operations"])

    def test_skewed_routing_meets_fewer_experts(self):
        words = ("moe", NVFP4, "--tokens", "4", "--num-iters", "1")
        even, skewed = (self.measure(*words, "--routing", r)["calls"][0]["active_experts"] for r in ("uniform", "skewed"))
        self.assertLess(skewed, even)

    def test_a_named_backend_is_that_one(self):
        got = self.measure("moe", NVFP4, "--tokens", "1", "--num-iters", "1", "--moe-backend", "cpu_pipeline", "--threads", "1")
        self.assertEqual((got["backend"], got["threads"]), ("cpu_pipeline", 1))


class Refusals(Bench):
    def test_wrong_usage_is_2(self):
        for words, expected in ((["bench"], "conclave bench latency"), (["bench", "frobnicate"], "frobnicate"),
                                (["bench", "latency", "--batch-size", "0"], "--batch-size"),
                                (["bench", "latency", "--input-len", "many"], "--input-len"),
                                (["bench", "throughput", "--num-prompts", "-1"], "--num-prompts"),
                                (["bench", "latency", "--num-iters", "0"], "--num-iters"),
                                (["bench", "latency", BF16, "--model", BF16], "given twice"),
                                (["bench", "moe", BF16, "--shape", "deepseek-v3"], "given twice"),
                                (["bench", "moe", "--shape", "gpt-2"], "gpt-2"), (["bench", "moe", "--format", "int3"], "int3"),
                                (["bench", "moe", "--tokens", "1,x"], "1,x"), (["bench", "moe", "--tokens", "0"], "65536"),
                                (["bench", "moe", "--routing", "odd"], "odd"), (["bench", "moe", "--moe-backend", "fast"], "fast")):
            with self.subTest(words):
                self.fail_with(2, expected, *words)

    def test_a_bad_variable_is_named(self):
        self.fail_with(2, ["--threads", "CONCLAVE_THREADS"], "bench", "latency", env=environment(CONCLAVE_THREADS="many"))

    def test_more_than_the_model_knows_is_refused(self):
        self.fail_with(2, "max_model_len", "bench", "latency", "--input-len", "1000000", "--output-len", "2")

    def test_help_teaches(self):
        for kind, parts in {"latency": ("--batch-size", "--num-iters-warmup", "--load-format", "=5", "Example: conclave bench latency"),
                            "throughput": ("--num-prompts", "--max-num-seqs", "Example: conclave bench throughput"),
                            "moe": ("deepseek-v3", "nvfp4", "uniform", "1,8,32,512", "Examples:")}.items():
            text = self.succeed("bench", kind, "--help").stdout
            for part in parts:
                self.assertIn(part, text)
        self.assertIn("trust shares", self.succeed("bench", "--help").stdout)


class Interrupted(Terminal):
    def test_ctrl_c_stops(self):
        process = self.start("bench", "latency", "--num-iters", "100000")
        self.wait_for(r"Measuring \[.* of 100001 runs")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
