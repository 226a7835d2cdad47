"""Models of the hub, from a stand-in on this machine (tests/hub/fake_hub.py)."""
import json
import shutil
import signal
import socket
import subprocess
import sys
import time

from harness import NVFP4, PATIENCE, PROGRAM, SOURCE, Program, environment


class Hub(Program):
    def setUp(self):
        super().setUp()
        root = self.folder / "repository"
        root.mkdir()
        for name in ("config.json", "model.safetensors"):
            shutil.copy(NVFP4 / name, root)
        scenario = {"root": str(root), "repo": "org/tiny", "commit": "0" * 40,
                    "faults": [{"host": "storage", "method": "GET", "slow": 0.5, "times": 100}]}
        (self.folder / "scenario.json").write_text(json.dumps(scenario))
        self.log = self.folder / "log"
        self.hub = subprocess.Popen([sys.executable, SOURCE / "tests" / "hub" / "fake_hub.py"], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.hub.wait, PATIENCE)
        self.addCleanup(self.hub.stdout.close)
        self.addCleanup(self.hub.stdin.close)
        print("start", self.folder / "scenario.json", self.log, file=self.hub.stdin, flush=True)
        self.port = self.hub.stdout.readline().strip()

    def test_a_stopped_download_ends_with_130(self):
        env = environment(HF_ENDPOINT=f"http://127.0.0.1:{self.port}", HF_HOME=str(self.folder / "cache"), HF_HUB_CACHE="")
        for number, words in enumerate((["run", "org/tiny", "--ids", "5", "--skip-tokenizer-init"], ["chat", "org/tiny"],
                                        ["inspect", "org/tiny"], ["logits", "org/tiny", "--ids", "5"])):
            with self.subTest(words[0]):
                process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, env=env, cwd=self.cwd)
                self.addCleanup(lambda process=process: process.poll() is None and process.kill())
                deadline = time.monotonic() + PATIENCE
                while self.log.read_text().count("storage GET") <= number and time.monotonic() < deadline:
                    time.sleep(0.02)
                process.send_signal(signal.SIGINT)
                out, errors = process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 130, errors)
                self.assertEqual(out, b"")
                self.assertIn(b"conclave: the download of model 'org/tiny' was stopped", errors)

    def test_dummy_weights_need_no_download_of_weights(self):
        env = environment(HF_ENDPOINT=f"http://127.0.0.1:{self.port}", HF_HOME=str(self.folder / "cache"), HF_HUB_CACHE="")
        for words in (["inspect", "org/tiny"], ["check", "org/tiny"], ["logits", "org/tiny", "--ids", "5"],
                      ["run", "org/tiny", "--ids", "5", "--skip-tokenizer-init", "--max-tokens", "2"]):
            with self.subTest(words[0]):
                self.succeed(*words, "--load-format", "dummy", env=env)
        self.assertIn("config.json", self.log.read_text())
        self.assertNotIn("safetensors", self.log.read_text())

    def test_a_hub_that_cannot_be_is_refused_at_once(self):
        cache = {"HF_HOME": str(self.folder / "cache"), "HF_HUB_CACHE": ""}
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # and nobody listens
            port = unused.getsockname()[1]
            for words in (["inspect", "org/tiny"], ["check", "org/tiny"], ["run", "-m", "org/tiny", "x"]):
                begin = time.monotonic()
                done = self.run_program(*words, env=environment(HF_ENDPOINT=f"http://127.0.0.1:{port}", **cache))
                self.assertEqual(done.returncode, 1)
                self.assertIn("failed 2 times in a row", done.stdout + done.stderr)
                self.assertLess(time.monotonic() - begin, 10)
                self.fail_with(2, "HF_ENDPOINT is 'http://[::1'", *words, env=environment(HF_ENDPOINT="http://[::1", **cache))
