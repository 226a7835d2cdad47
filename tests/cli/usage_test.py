"""What the program does with wrong words, wrong options and the environment."""
import re
import shutil
import subprocess

from harness import BF16, NUMBER, PATIENCE, PROGRAM, QUESTION, SANITIZED, Program, environment

COMMANDS = ("run", "chat", "inspect", "check", "logits", "bench", "doctor")


class Usage(Program):
    def test_help_and_version(self):
        self.assertRegex(self.succeed("--version").stdout, r"^conclave \d+\.\d+\.\d+\n$")
        text = self.succeed("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, text)
            self.assertIn("--help", self.succeed(command, "--help").stdout)

    def test_help_teaches(self):
        """What a newcomer needs is in --help itself: how to begin, what a value may be, where a default comes from."""
        for command, parts in {
                "run": ("Examples:", "conclave run \"", "--raw --temperature 0 <", "left out: the built-in model", "FLOAT:0 to 2",
                        "INT:1 or more", "Env:CONCLAVE_THREADS", "may be given several times"),
                "chat": ("Examples:", "conclave chat", "/reset", "/stats", "Ctrl-D", "Ctrl-C stops an answer, a second one leaves"),
                "inspect": ("Example: conclave inspect", "Reads no weights", "--tensors", "left out: the built-in model"),
                "logits": ("Example: conclave logits", "REQUIRED", "such as 5,17,42", "logits [T, V]", "INT:1 to 65536"),
                "doctor": ("what this machine and this build can do", "Exit status: 0 done")}.items():
            text = self.succeed(command, "--help").stdout
            for part in (*parts, "Usage: conclave " + command):
                self.assertIn(part, text)
            self.assertNotRegex(text, r"\d{12}|\{false\}")

    def test_wrong_usage_is_2(self):
        for words in ([], ["frobnicate"], ["--frobnicate"], ["run", "--frobnicate", "x"], ["run", "a", "b", "c"], ["logits"],
                      ["doctor", "x"], ["run", "x", "--threads", "many"], ["run", "x", "--max-tokens", "-1"], ["run", "x", "--max-tokens", "0"],
                      ["run", "x", "--dtype", "int1"], ["run", "x", "--temperature"], ["--log-level", "loud", "doctor"],
                      ["run", "x", "--chat-template", "/nowhere"], ["logits", "--ids", "5", "--chunk", "0"]):
            with self.subTest(words):
                done = self.fail_with(2, [], *words)
                self.assertTrue(done.stderr.strip())

    def test_an_unknown_command_is_named(self):
        self.fail_with(2, "frobnicate", "frobnicate")

    def test_unknown_variables_are_refused(self):
        for words in (["doctor"], ["run", "x"]):
            self.fail_with(2, ["CONCLAVE_THREAD ", "did you mean 'CONCLAVE_THREADS'?"], *words,
                           env=environment(CONCLAVE_THREAD="1"))
        done = self.fail_with(2, ["CONCLAVE_ISSA", "CONCLAVE_QUUX"], "doctor",
                              env=environment(CONCLAVE_ISSA="scalar", CONCLAVE_QUUX="1"))
        self.assertIn("did you mean 'CONCLAVE_ISA'?", done.stderr)

    def test_variables_are_options(self):
        words = ["run", QUESTION, "--temperature", "0"]
        env = environment(CONCLAVE_MOE_BACKEND="reference", CONCLAVE_THREADS="1")
        done = self.succeed(*words, env=env)
        self.assertIn(NUMBER, done.stdout)
        self.assertRegex(done.stderr, r"experts and alike: .*: reference, ")
        self.assertIn("1 thread)", done.stderr)
        self.assertRegex(self.succeed(*words, "--moe-backend", "cpu_pipeline", env=env).stderr, r"experts and alike: .*: cpu_pipeline, ")

    def test_unknown_backend_is_named_with_the_nearest(self):
        for words in (["run", "x"], ["inspect"], ["logits", "--ids", "5"]):
            self.fail_with(2, ["'cpu_pipelin'", "did you mean 'cpu_pipeline'?"], *words, "--moe-backend", "cpu_pipelin")
        self.fail_with(2, "'cpu_pipelin'", "run", "x", env=environment(CONCLAVE_MOE_BACKEND="cpu_pipelin"))

    def test_doctor(self):
        text = self.succeed("doctor").stdout
        for word in ("CPU:", "threads:", "memory:", "GPU", "cpu_pipeline", "reference", "Qwen3MoeForCausalLM", "gemm_nvfp4"):
            self.assertIn(word, text)
        self.assertIn("kernels at level scalar", self.succeed("doctor", env=environment(CONCLAVE_ISA="scalar")).stdout)

    def test_scalar_kernels_answer_too(self):
        done = self.succeed("run", QUESTION, "--temperature", "0", env=environment(CONCLAVE_ISA="scalar"))
        self.assertIn(NUMBER, done.stdout)
        self.assertIn("cpu-scalar", done.stderr)

    def test_an_old_processor(self):
        emulator = shutil.which("qemu-x86_64")
        if SANITIZED:
            self.skipTest("sanitizers and the emulator do not go together")
        if emulator is None:
            self.skipTest("no qemu-x86_64: what a processor without AVX2 gets was not looked at")
        done = subprocess.run([emulator, "-cpu", "Nehalem", PROGRAM, "doctor"], capture_output=True, env=environment(), timeout=PATIENCE,
                              cwd=self.cwd, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"kernels at level scalar", done.stdout)

    def test_nothing_to_answer_without_a_tokenizer(self):
        self.fail_with(2, "token", "run", BF16, "hello", "--skip-tokenizer-init")
        self.fail_with(2, "conclave run --ids", "chat", BF16, "--skip-tokenizer-init")

    def test_a_wrong_value_of_any_option_is_2(self):
        free = ("--model", "--system", "--stop", "--out")  # whose value may be any text, or names a file
        needed = {"run": ["hello"], "logits": ["--ids", "5"]}
        seen = 0
        for command in COMMANDS:
            for option in re.findall(r"(--[\w-]+) (?:INT|FLOAT|TEXT)", self.succeed(command, "--help").stdout):
                if option in free:
                    continue
                with self.subTest(command, option=option):
                    words = [] if option == "--ids" else needed.get(command, [])
                    self.assertIn("no-such", self.fail_with(2, [], command, *words, option, "no-such").stderr)
                    seen += 1
        self.assertGreater(seen, 40)

    def test_values_that_cannot_be_are_2_whoever_finds_them(self):
        """The parser, the engine's limits, the model's vocabulary, the environment: to a script it is the same mistake."""
        for words in (["run", "x", "--kv-cache-dtype", "fp7"], ["run", "x", "--max-model-len", "99999999"],
                      ["run", "x", "--max-num-seqs", "4000000"], ["run", "x", "--moe-backend", "fast"],
                      ["run", "--ids", "5,x", "--skip-tokenizer-init"], ["run", "--ids", "99999999", "--skip-tokenizer-init"],
                      ["logits", "--ids", "99999999"], ["run", "x", "--load-format", "quick"], ["inspect", "--moe-backend", "fast"],
                      ["check", "--moe-backend", "fast"], ["check", "--device", "sm_1"], ["run", "--model", BF16, BF16, "x"]):
            with self.subTest(words):
                self.assertTrue(self.fail_with(2, [], *words).stderr.strip())
