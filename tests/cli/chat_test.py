"""conclave chat: what is remembered, what Ctrl-C and Ctrl-D do, and how it ends."""
import os
import re
import signal
import subprocess
import time

from harness import PATIENCE, PROGRAM, Program, Terminal, environment

QUESTION = "He buys 4 more. How many apples does he have?"
ENDLESS = ["--dtype", "float32", "--ignore-eos"]
SHORT = ["--temperature", "0", "--max-tokens", "12"]


def prompts_of(stderr):
    return [int(n) for n in re.findall(r"prompt of (\d+) tokens", stderr)]


class Piped(Program):
    def chat(self, *lines, words=SHORT, status=0):
        done = self.run_program("chat", *words, stdin=b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_the_second_answer_knows_the_first_turn(self):
        done = self.chat("Tom has 3 apples.", "/stats", QUESTION, "/stats", "/reset", QUESTION, "/stats")
        first, second, alone = prompts_of(done.stderr)
        self.assertGreaterEqual(second, first + 12 + alone)  # the first turn, its answer of 12 tokens, and the question
        answers = self.chat("Tom has 3 apples.", QUESTION).stdout, self.chat(QUESTION).stdout
        self.assertTrue(answers[1])
        self.assertFalse(answers[0].endswith(answers[1]))

    def test_the_end_of_the_input_leaves(self):
        self.assertEqual(self.chat().stdout, "")
        self.assertEqual(self.chat("", "", "").stdout, "")
        self.assertTrue(self.chat("hello").stdout)
        self.assertEqual(self.chat("hello", "/exit", "never asked").stdout, self.chat("hello").stdout)

    def test_a_refused_question_forgets_nothing(self):
        done = self.chat("Tom has 3 apples.", b"\xff\xfe", "x" * 20000, QUESTION, "/stats", status=1)
        self.assertIn("not UTF-8", done.stderr)
        self.assertIn("must fit into max_model_len", done.stderr)
        self.assertNotIn("forgotten", done.stderr)
        self.assertEqual(prompts_of(done.stderr), prompts_of(self.chat("Tom has 3 apples.", QUESTION, "/stats").stderr))

    def test_a_long_conversation_forgets_its_beginning(self):
        done = self.chat(*[QUESTION] * 4, "/stats", words=[*SHORT, "--max-model-len", "100"])
        self.assertIn("the beginning is forgotten", done.stderr)
        self.assertLessEqual(prompts_of(done.stderr)[0], 100 - 12)

    def test_interrupt_ends_it_where_nobody_sits(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([PROGRAM, "chat", *ENDLESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=environment(), cwd=self.cwd)
            process.stdin.write(b"hello\nnever asked\n")
            process.stdin.flush()
            self.assertTrue(process.stdout.read(1))
            process.send_signal(number)
            process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 130)


class ChatOnATerminal(Terminal):
    def start(self, *words):
        """Returns at the first prompt."""
        process = super().start("chat", *words)
        self.wait_for(r"\n> $")
        return process

    def ask_endlessly(self):
        self.press(b"hello\n")
        self.wait_for(r"hello\n(?s:.){20}")

    def test_ctrl_c_stops_the_answer_and_a_second_one_leaves(self):
        process = self.start(*ENDLESS)
        self.ask_endlessly()
        self.press(b"\x03")
        self.wait_for(r"\n> $")
        self.press(b"/stats\n")
        self.wait_for(r"ended by abort(?s:.)*\n> $")
        self.press(b"\x03")
        self.assertEqual(process.wait(PATIENCE), 130)

    def test_answers_go_on_after_a_stopped_one(self):
        process = self.start("--dtype", "float32", "--temperature", "0", "--ignore-eos", "--max-tokens", "300")
        self.ask_endlessly()
        self.press(b"\x03")
        self.wait_for(r"\n> $")
        self.ask_endlessly()
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:  # an impatient finger
            self.press(b"\x03")
            time.sleep(0.02)
        self.assertEqual(process.returncode, 130)

    def test_ctrl_c_with_half_a_line_leaves(self):
        process = self.start()
        self.press(b"half a quest")
        self.wait_for("quest")
        self.press(b"\x03")
        self.assertEqual(process.wait(PATIENCE), 130)

    def test_ctrl_d_leaves(self):
        process = self.start()
        self.press(b"\x04")
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_refusals_are_told_and_do_not_change_the_status(self):
        process = self.start()
        self.press(b"/what\n")
        self.wait_for(r"/reset(?s:.)*\n> $")
        self.press(b"\xff\n")
        self.wait_for(r"not UTF-8\n\n> $")
        self.press(b"\x04")
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_sigterm_ends_it_at_once(self):
        process = self.start(*ENDLESS)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 130)
        process = self.start(*ENDLESS)
        self.ask_endlessly()
        self.seen = ""
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 130)
