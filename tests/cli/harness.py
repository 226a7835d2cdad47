"""Runs the program as a user would: a fresh folder, a bare environment, no terminal unless a test opens one."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path

PROGRAM = os.environ["CONCLAVE_PROGRAM"]
SOURCE = Path(os.environ["CONCLAVE_SOURCE_DIR"])
SANITIZED = bool(os.environ["CONCLAVE_SANITIZED"])
FIXTURES = SOURCE / "tests" / "data" / "fixtures"
BF16 = FIXTURES / "qwen3_moe-bf16-sharded"  # has no tokenizer
NVFP4 = FIXTURES / "qwen3_moe-nvfp4-kvfp8"
TINYMOE = SOURCE / "models" / "tinymoe"

QUESTION = "Lily is 4 feet 3 inches tall. How tall is she in inches?"
NUMBER = "#### 51"
# Long enough to be interrupted: the slow path, and no end token.
ENDLESS = ["--raw", "--dtype", "float32", "--ignore-eos", "--max-tokens", "2000"]

# A wait that only a hang reaches, even on a machine with ten other builds running.
PATIENCE = 60


def environment(**extra):
    """What the program sees: none of the harness's own CONCLAVE_* variables, since unknown ones are refused."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CONCLAVE_")}
    env.update(extra)
    return env


class Program(unittest.TestCase):
    """One test case class with an empty working folder that must stay empty."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cwd = self.folder / "cwd"
        self.cwd.mkdir()

    def run_program(self, *words, stdin=b"", env=None, cwd=None):
        """The finished process; stdout and stderr as text. A crash or a hang fails here, for every test."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run([PROGRAM, *map(os.fspath, words)], input=stdin, capture_output=True, timeout=PATIENCE,
                              env=environment() if env is None else env, cwd=cwd or self.cwd, check=False)
        done.stdout = done.stdout.decode(errors="replace")
        done.stderr = done.stderr.decode(errors="replace")
        self.assertGreaterEqual(done.returncode, 0, f"ended by a signal: {words}\n{done.stderr}")
        self.assertNotIn("terminate called", done.stderr)
        return done

    def succeed(self, *words, **how):
        done = self.run_program(*words, **how)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stderr}")
        return done

    def fail_with(self, status, expected, *words, **how):
        """The program refuses with `status`, nothing on stdout, and every one of `expected` (words) on stderr."""
        done = self.run_program(*words, **how)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout[:500]}\n{done.stderr}")
        self.assertEqual(done.stdout, "")
        for text in [expected] if isinstance(expected, str) else expected:
            self.assertIn(text, done.stderr)
        if status == 1:
            self.assertTrue(done.stderr.startswith("conclave: "), done.stderr)
            self.assertEqual(done.stderr.count("conclave: "), 1, done.stderr)
        return done


class Terminal(Program):
    """The program on a terminal of its own, whose keys and screen are self.screen."""

    def start(self, *words):
        self.screen, inside = pty.openpty()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen([PROGRAM, *map(os.fspath, words)], stdin=inside, stdout=inside, stderr=inside,
                                   env=environment(), cwd=self.cwd, preexec_fn=take_terminal)
        os.close(inside)
        self.addCleanup(os.close, self.screen)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.seen = ""
        return process

    def wait_for(self, pattern):
        """Reads the screen until `pattern` is in what came since the last key; returns the match."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.seen):
            ready, _, _ = select.select([self.screen], [], [], max(0, deadline - time.monotonic()))
            self.assertTrue(ready, f"{pattern!r} did not come; there is {self.seen!r}")
            self.seen += os.read(self.screen, 4096).decode(errors="replace").replace("\r", "")
        return re.search(pattern, self.seen)

    def press(self, keys):
        self.seen = ""
        os.write(self.screen, keys)


def read_safetensors(path):
    """name -> (shape, list of numbers), for F32 and I32."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        code = {"F32": "f", "I32": "i"}[entry["dtype"]]
        values = struct.unpack(f"<{(end - begin) // 4}{code}", data[8 + size + begin:8 + size + end])
        tensors[name] = (entry["shape"], list(values))
    return tensors


def edit_header(file, change):
    """Rewrites the header of a safetensors file; the data stays where it is."""
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    change(header)
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length:])
