"""Values, streams and surroundings that mean no good: one clear error, the right status, never a crash, a hang or a flood."""
import json
import os
import resource
import shutil
import subprocess

from harness import BF16, PATIENCE, PROGRAM, SANITIZED, TINYMOE, Program, environment

HELLO = ["run", "-q", "hello", "--max-tokens", "1"]
LONGEST_MESSAGE = 2000


def closed(*descriptors):
    return lambda: [os.close(number) for number in descriptors]


def limited(which, most):
    if SANITIZED and which == resource.RLIMIT_AS:  # a sanitizer takes terabytes of addresses before the program begins
        return None
    return lambda: resource.setrlimit(which, (most, most))


class Hostile(Program):
    def start(self, *words, **how):
        """The finished process, for what run_program has no words; a crash or a hang fails here too."""
        done = subprocess.run([PROGRAM, *map(os.fspath, words)], timeout=PATIENCE, check=False, cwd=self.cwd,
                              **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                 "env": environment(), **how})
        self.assertGreaterEqual(done.returncode, 0, f"ended by a signal: {words} {done.stderr}")
        return done


class Options(Hostile):
    def test_wrong_numbers_say_what_is_expected(self):
        everywhere = ("ü", "nan", "-inf", "0x1", " 1", "1,5", "99999999999999999999", "-99")
        whole = (*everywhere, "1.0", "1e3")
        for words, expected, values in (
                (["run", "x", "--temperature"], "a number from 0 to 2", (*everywhere, "2.1")),
                (["run", "x", "--frequency-penalty"], "a number from -2 to 2", everywhere),
                (["run", "x", "--max-tokens"], "a whole number from 1 to 2147483647", (*whole, "0", "2147483648")),
                (["chat", "--max-tokens"], "a whole number from 1 to 2147483647", ("0",)),
                (["run", "x", "--max-model-len"], "a whole number from 0 to 2147483647", whole),
                (["run", "x", "--seed"], "a whole number from -9223372036854775808 to 9223372036854775807", (*whole[:-4], "0x1")),
                (["inspect", "--threads"], "a whole number from 0 to 4096", (*whole, "4097")),
                (["logits", "--ids", "5", "--chunk"], "a whole number from 1 to 65536", (*whole, "0"))):
            for value in values:
                with self.subTest(words, value=value):
                    self.fail_with(2, f"{words[-1]}: expected {expected}, found '{value}'", *words[:-1], f"{words[-1]}={value}")

    def test_numbers_are_decimal(self):
        for value in ("010", "10"):
            done = self.succeed("run", "x", "--raw", "--ignore-eos", "--max-tokens", value)
            self.assertIn("10 tokens at", done.stderr)

    def test_empty_texts_are_not_left_out_options(self):
        for words in (["run", "x", "--model", ""], ["run", "--ids", ""], ["chat", ""], ["inspect", ""], ["logits", "", "--ids", "5"],
                      ["logits", "--ids", ""], ["logits", "--ids", "5", "--out", ""]):
            self.fail_with(2, "expected a value, found an empty text", *words)
        self.fail_with(2, "which names the model, is empty", "run", "", "x")
        nothing = self.folder / "nothing.jinja"
        nothing.write_bytes(b"")
        self.fail_with(2, "--chat-template: expected a template, found nothing", *HELLO, "--chat-template", nothing)

    def test_what_is_quoted_is_short_and_not_obeyed(self):
        for value in ("A" * 100000, "\x1b[31mred\x9b1m", os.fsdecode(b"\xff\xfe")):
            for words in (["run", "x", "--kv-cache-dtype", value], ["run", "x", "--moe-backend", value], ["run", "x", "--model", value],
                          ["run", f"--ids={value}"], ["logits", f"--ids={value}"], ["inspect", "--moe-backend", value]):
                with self.subTest(words[:2]):
                    done = self.fail_with(1 if "--model" in words else 2, [], *words)  # a model that is not there is no wrong usage
                    self.assertLess(len(done.stderr), LONGEST_MESSAGE)
                    self.assertNotRegex(done.stderr, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
            done = self.fail_with(2, "CONCLAVE_ISA", "doctor", env=environment(CONCLAVE_ISA=value))
            self.assertLess(len(done.stderr), LONGEST_MESSAGE)
            self.assertNotRegex(done.stderr, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_more_rows_than_any_machine_computes(self):
        self.fail_with(2, ["2 problems", "max_num_seqs must be at most 1048576", "max_num_batched_tokens must be at most 1048576"],
                       *HELLO, "--max-num-seqs", "2000000000", "--max-num-batched-tokens", "2000000000")

    def test_a_wrong_variable_is_named(self):
        for name, words in (("CONCLAVE_THREADS", ["run", "x"]), ("CONCLAVE_LOG_LEVEL", ["doctor"])):
            env = environment(**{name: "many"})
            self.fail_with(2, ["many", f"The value is that of the environment variable {name}."], *words, env=env)
        done = self.fail_with(2, "found 'few'", "run", "x", "--threads", "few", env=environment(CONCLAVE_THREADS="many"))
        self.assertNotIn("CONCLAVE_THREADS", done.stderr)

    def test_log_level(self):
        self.fail_with(2, "loud not in {debug,error,info,off,warning}", "--log-level", "loud", "doctor")
        for level in ("info", "INFO"):
            self.succeed("--log-level", level, "doctor")


class Streams(Hostile):
    def test_no_prompt_on_stdin(self):
        for stdin, status, words_said in ((subprocess.DEVNULL, 2, b"there is no prompt"),
                                          (os.open("/", os.O_RDONLY), 1, b"could not be read")):
            for words in (["run"], ["run", "-"], ["run", "--raw"]):
                done = self.start(*words, stdin=stdin)
                self.assertEqual(done.returncode, status)
                self.assertIn(words_said, done.stderr)
        self.fail_with(2, "there is no prompt", "run", "")

    def test_an_endless_stdin(self):
        for command in ("run", "chat"):
            with open("/dev/zero", "rb") as zeros:
                done = self.start(command, stdin=zeros, preexec_fn=limited(resource.RLIMIT_AS, 1 << 30))
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"expected a prompt of at most", done.stderr)

    def test_nobody_hears(self):
        """A stderr that is full or closed changes nothing; a stdout that is makes a failure of it."""
        with open("/dev/full", "wb") as full:
            for words, status in ((["run", "hello", "--max-tokens", "1"], 0), (["run", "--ids", "abc"], 2), (["run", "--frob"], 2),
                                  (["frob"], 2), (["logits", "--ids", "x"], 2), (["run", "/nowhere", "hello"], 1)):
                self.assertEqual(self.start(*words, stderr=full).returncode, status, words)
                self.assertEqual(self.start(*words, preexec_fn=closed(2)).returncode, status, words)
            for words in (["run", "hello", "--max-tokens", "1"], ["doctor"], ["--help"], ["--version"], ["chat", "--help"]):
                self.assertEqual(self.start(*words, stdout=full).returncode, 1, words)
                self.assertEqual(self.start(*words, preexec_fn=closed(0, 1, 2)).returncode, 1, words)


class Files(Hostile):
    def logits_to(self, path, status, expected, **how):
        done = self.start("logits", BF16, "--ids", "5", "--out", path, **how)
        self.assertEqual(done.returncode, status)
        self.assertIn(expected, done.stderr)

    def test_out_replaces_files_only(self):
        pipe, link, folder, file = (self.folder / name for name in ("pipe", "link", "folder", "file"))
        os.mkfifo(pipe)
        link.symlink_to("/dev/null")
        folder.mkdir()
        for path in (pipe, link, folder):
            self.logits_to(path, 2, b"it is there and is not a regular file")
        self.assertTrue(pipe.is_fifo() and link.is_symlink() and folder.is_dir())
        self.logits_to(self.folder / "nowhere" / "x", 1, b"No such file or directory")
        self.logits_to(file, 1, b"File too large", preexec_fn=limited(resource.RLIMIT_FSIZE, 100))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["cwd", "folder", "link", "pipe"])

    def test_a_large_chunk_needs_no_memory_of_its_own(self):
        self.assertEqual(self.start("logits", "--ids", "5", "--chunk", "65536",
                                    preexec_fn=limited(resource.RLIMIT_AS, 300 << 20)).returncode, 0)

    def tinymoe_with(self, name, text):
        folder = self.folder / f"model{len(list(self.folder.iterdir()))}"
        shutil.copytree(TINYMOE / "nvfp4", folder)
        (folder / name).write_text(text)
        return folder

    def test_a_chat_template_of_the_wrong_kind(self):
        for template in (5, {}, [], [{"name": "tool_use", "template": "x"}], [{"name": "default", "template": 5}]):
            folder = self.tinymoe_with("tokenizer_config.json", json.dumps({"chat_template": template}))
            (folder / "chat_template.jinja").unlink()
            self.fail_with(1, ["tokenizer_config.json: chat_template: expected a text", "--chat-template"], "run", folder, "hello")

    def test_generation_config(self):
        folder = self.tinymoe_with("generation_config.json", json.dumps({"temperature": "x" * 100000, "top_p": -1}))
        done = self.succeed("run", folder, "hello", "--max-tokens", "1")
        self.assertIn("note: generation_config.json: temperature is ", done.stderr)
        self.assertIn("note: generation_config.json: top_p is -1 and is not used", done.stderr)
        self.assertLess(len(done.stderr), LONGEST_MESSAGE)
        folder = self.tinymoe_with("generation_config.json", json.dumps({"eos_token_id": [1e5]}))
        self.fail_with(1, "generation_config.json: eos_token_id", "run", folder, "hello")

    def test_templates_that_do_not_end(self):
        for text, status, expected in (
                ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", 2, "nested more than"), ("{{ 'a' * 10**12 }}", 2, "more than"),
                ("{{ [[0] * 1000] * 10**9 }}", 2, "more than"), ("{{ raise_exception('no \x1b[31m') }}", 2, "no \\x1b[31m"),
                ("{" * 100000 + "{{", 1, "line 1")):  # a broken file, not a refused conversation
            path = self.folder / "template.jinja"
            path.write_text(text)
            self.fail_with(status, expected, *HELLO, "--chat-template", path)
