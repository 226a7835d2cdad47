"""conclave run: answers, where they are written, and how they end."""
import json
import os
import signal
import subprocess
import sys
import time

from harness import BF16, ENDLESS, NUMBER, NVFP4, PATIENCE, PROGRAM, QUESTION, TINYMOE, Program, environment, read_safetensors

IDS = ["--ids", "5,17,42", "--skip-tokenizer-init", "--temperature", "0"]


class Answers(Program):
    def test_demo_prompts_get_the_right_number(self):
        prompts = json.loads((TINYMOE / "tests" / "demo_prompts.json").read_text())
        self.assertEqual(len(prompts), 8)
        for prompt in prompts:
            with self.subTest(prompt["question"]):
                done = self.succeed("run", prompt["question"], "--temperature", "0")
                self.assertEqual(done.stdout.strip().splitlines()[-1], f"#### {prompt['value']}")

    def test_answer_on_stdout_and_statistics_on_stderr(self):
        done = self.succeed("run", QUESTION, "--temperature", "0")
        self.assertIn(NUMBER, done.stdout)
        self.assertNotIn("tokens/s", done.stdout)
        self.assertRegex(done.stderr, r"\d+ tokens at \d+ tokens/s, the first after [\d.]+ ms; prompt of \d+ tokens; ended by stop")
        self.assertIn("embedded:tinymoe", done.stderr)
        self.assertIn("model.layers.0.mlp.experts and alike: 16 experts, top 4", done.stderr)
        self.assertNotIn(NUMBER, done.stderr)

    def test_quiet_leaves_only_the_answer(self):
        done = self.succeed("run", "-q", QUESTION, "--temperature", "0")
        self.assertTrue(done.stdout.endswith(NUMBER + "\n"))
        self.assertEqual(done.stderr, "")

    def test_prompt_from_stdin(self):
        for words in ([], ["-"]):
            done = self.succeed("run", "--quiet", "--temperature", "0", *words, stdin=QUESTION)
            self.assertIn(NUMBER, done.stdout)

    def test_raw_continues_a_pattern(self):
        lines = [json.loads(line) for line in (TINYMOE / "tests" / "fewshot_pool.jsonl").read_text().splitlines()[:4]]
        prompt = "".join(f"Question: {one['question']}\nAnswer: {one['answer']}\n\n" for one in lines)
        prompt += f"Question: {QUESTION}\nAnswer:"
        done = self.succeed("run", "--raw", "--quiet", "--temperature", "0", "--stop", "Question:", "--max-tokens", "120",
                            stdin=prompt)
        self.assertIn(NUMBER, done.stdout)
        self.assertNotIn("Question:", done.stdout)

    def test_model_folder_before_the_prompt_or_by_flag(self):
        folder = TINYMOE / "nvfp4"
        built_in = self.succeed("run", "--quiet", QUESTION, "--temperature", "0").stdout
        self.assertEqual(self.succeed("run", "--quiet", folder, QUESTION, "--temperature", "0").stdout, built_in)
        self.assertEqual(self.succeed("run", "--quiet", "--model", folder, QUESTION, "--temperature", "0").stdout, built_in)
        self.fail_with(2, "given twice", "run", "--model", folder, folder, QUESTION)
        self.fail_with(2, "given twice", "run", "--model", NVFP4, BF16, *IDS)

    def test_a_lone_folder_reads_the_prompt_from_stdin(self):
        done = self.succeed("run", "--quiet", "--temperature", "0", TINYMOE / "nvfp4", stdin=QUESTION)
        self.assertIn(NUMBER, done.stdout)
        self.fail_with(2, "there is no prompt", "run", TINYMOE / "nvfp4")

    def test_token_ids(self):
        done = self.succeed("run", BF16, *IDS, "--max-tokens", "8", "--ignore-eos")
        self.assertEqual(len(done.stdout.split()), 8)
        for word in done.stdout.split():
            self.assertIn(int(word), range(512))
        self.assertIn("8 tokens at", done.stderr)
        self.assertIn("prompt of 3 tokens; ended by length", done.stderr)

    def test_an_fp8_cache_answers_as_transformers_does(self):
        reference = read_safetensors(NVFP4 / "ref.safetensors")
        for prompt in ("p0", "p1", "p2"):
            ids = ",".join(map(str, reference[f"{prompt}.ids"][1]))
            wanted = reference[f"kv.{prompt}.greedy"][1]
            done = self.succeed("run", NVFP4, "--ids", ids, *IDS[2:], "--ignore-eos", "--max-tokens", str(len(wanted)), "--dtype",
                                "float32", "--kv-cache-dtype", "fp8")
            self.assertEqual([int(word) for word in done.stdout.split()], wanted)

    def test_a_missing_tokenizer_is_explained(self):
        self.fail_with(1, ["expected tokenizer.json", "--skip-tokenizer-init"], "run", BF16, "--ids", "5,17,42")

    def test_bad_token_ids(self):
        for ids in ("5,,17", "abc", "5 17", "99999999999999", "512", "-1", ","):
            with self.subTest(ids):
                self.fail_with(2, ids if ids in ("512", "-1") else "token ids", "run", BF16, f"--ids={ids}", "--skip-tokenizer-init")

    def test_max_tokens(self):
        one = self.succeed("run", QUESTION, "--max-tokens", "1", "--temperature", "0")
        self.assertRegex(one.stderr, r"^\s*1 tokens? at 0 tokens/s.*ended by length")
        self.assertTrue(one.stdout.strip())

    def test_seed_repeats_the_answer(self):
        def answer(seed):
            return self.succeed("run", "--raw", "-q", "Once", "--temperature", "1.5", "--max-tokens", "40", "--ignore-eos", "--seed",
                                str(seed)).stdout
        first = answer(7)
        self.assertEqual(answer(7), first)
        self.assertTrue(any(answer(seed) != first for seed in (8, 9)))

    def test_stop_text_ends_the_answer(self):
        done = self.succeed("run", QUESTION, "--temperature", "0", "--stop", "####")
        self.assertNotIn("####", done.stdout)
        self.assertIn("48 + 3 = 51", done.stdout)
        self.assertIn("ended by stop", done.stderr)

    def test_reference_backend_and_float32_answer_too(self):
        for words in (["--moe-backend", "reference"], ["--dtype", "float32"]):
            done = self.succeed("run", QUESTION, "--temperature", "0", *words)
            self.assertIn(NUMBER, done.stdout)
            self.assertIn("reference", done.stderr)

    def test_one_thread_and_small_steps_answer_alike(self):
        for words in (["--threads", "1"], ["--max-num-batched-tokens", "1"], ["--max-num-batched-tokens", "7"]):
            self.assertIn(NUMBER, self.succeed("run", QUESTION, "--temperature", "0", *words).stdout)


class Endings(Program):
    def start(self, *words, **how):
        process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   env=environment(), cwd=self.cwd, **how)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def test_interrupt_stops_a_long_answer(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("run", *ENDLESS, "Once upon a time")
            self.assertTrue(process.stdout.read(1))
            process.send_signal(number)
            process.stdout.read()
            self.assertEqual(process.wait(PATIENCE), 130)
            self.assertIn(b"ended by abort", process.stderr.read())

    def test_interrupt_at_any_moment_of_the_start(self):
        for delay in (0.005, 0.02, 0.04, 0.06, 0.1):
            process = self.start("run", *ENDLESS, "Once upon a time")
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            status = process.wait(PATIENCE)
            self.assertIn(status, (130, -signal.SIGINT))  # the latter before the program looks at signals

    def test_closed_stdout_ends_it(self):
        process = self.start("run", *ENDLESS, "Once upon a time")
        self.assertTrue(process.stdout.read(1))
        process.stdout.close()
        self.assertIn(process.wait(PATIENCE), (1, -signal.SIGPIPE))

    def test_closed_stdout_ends_it_with_sigpipe_ignored(self):
        process = self.start("run", *ENDLESS, "Once upon a time", restore_signals=False)
        self.assertTrue(process.stdout.read(1))
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE), 1)

    def test_a_full_disk_is_an_error(self):
        for words in (["run", "hello", "--temperature", "0"], ["inspect"], ["doctor"], ["logits", "--ids", "5"]):
            with self.subTest(words), open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=PATIENCE,
                                      cwd=self.cwd, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"could not be written", done.stderr)


class Surroundings(Program):
    def test_read_only_folder_and_no_home(self):
        env = environment()
        env.pop("HOME", None)
        self.cwd.chmod(0o555)
        self.addCleanup(self.cwd.chmod, 0o755)
        self.assertIn(NUMBER, self.succeed("run", QUESTION, "--temperature", "0", env=env).stdout)

    def test_nothing_is_written(self):
        home = self.folder / "home"
        home.mkdir()
        env = environment(HOME=str(home), TMPDIR=str(home))
        for words in (["run", QUESTION, "--temperature", "0"], ["inspect"], ["doctor"], ["logits", "--ids", "5,6"]):
            self.succeed(*words, env=env)
        self.succeed("chat", stdin="hello\n/exit\n", env=env)
        self.assertEqual(list(home.rglob("*")), [])
        self.assertEqual(list(self.cwd.rglob("*")), [])

    def test_memory_and_start(self):
        before = time.monotonic()
        process = subprocess.Popen([PROGRAM, "run", QUESTION, "--temperature", "0"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=environment(), cwd=self.cwd)
        self.assertTrue(process.stdout.read(1))
        first = time.monotonic() - before
        process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        print(f"first text after {first:.2f} s, {usage.ru_utime + usage.ru_stime:.2f} s of CPU time, "
              f"at most {usage.ru_maxrss / 1024:.0f} MB resident", file=sys.stderr)
        self.assertLess(usage.ru_maxrss / 1024, 150)
