#!/usr/bin/env python3
"""Plants plausible mistakes one after the other and expects a test to fail for each.

    tools/mutations/run.py --build build/dev [--only TEXT]... [--first N] [--table docs/mutations.md]

list.json holds one mistake per line: the fixture whose numbers show it and what it is (a row of the oracle's table of
sensitivities), the file, the text that is there exactly once, what replaces it, the test program and its filter. The
source is put back after each, whatever happens. With --table, the results of this run replace the rows of the same
mistakes in that file; mistakes that were not planted yet stay in it as such.

Exit status 0: every mistake that was planted was caught.
"""
import argparse
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
HEAD = "| fixture | mistake | planted in | test | result |\n|---|---|---|---|---|\n"
INTRO = """# Planted mistakes

Each row is a plausible mistake in an architecture, a format or a formula, planted by `tools/mutations/run.py`, and the
test that was expected to fail for it: `caught` when it did, `SURVIVED` when it did not, `not run yet` otherwise. The
fixtures and mistakes are those whose effect was measured when the fixtures were made. Most lie beside the tree (`../shared`):
without them the script refuses to start.

"""


def build(folder, target):
    return subprocess.run(["nice", "ninja", "-C", folder, "-j1", target], capture_output=True, text=True, check=False)


def program(folder, target):
    room = target.removesuffix("_test")
    return Path(folder) / "tests" / room / target


def run_test(folder, entry):
    return subprocess.run([program(folder, entry["target"]), "--gtest_filter=" + entry["filter"]], cwd=SOURCE,
                          capture_output=True, text=True, errors="replace", timeout=900, check=False)


def tests_that_ran(output):
    found = re.search(r"\[==========\] (\d+) tests? from .* ran\.", output)
    return int(found.group(1)) if found else 0


def plant(folder, rows):
    """Plants the one mistake that these rows of the table share; a word for each row: what became of it."""
    path = SOURCE / rows[0]["file"]
    original = path.read_text()
    times = original.count(rows[0]["old"])
    if times != 1:
        return [f"the text is there {times} times"] * len(rows)
    try:
        path.write_text(original.replace(rows[0]["old"], rows[0]["new"]))
        built = build(folder, rows[0]["target"])
        if built.returncode != 0:
            sys.stderr.write(built.stdout[-3000:])
            return ["does not build"] * len(rows)
        return [verdict(run_test(folder, entry)) for entry in rows]
    finally:
        path.write_text(original)


def verdict(done):
    if done.returncode == 0:
        return "SURVIVED"
    return "caught" if "[  FAILED  ]" in done.stdout else f"caught (ended with {done.returncode})"


def planted_alike(entries):
    """Rows of several fixtures that one change of the source serves, together: it is built once."""
    groups = {}
    for e in entries:
        groups.setdefault((e["file"], e["old"], e["new"], e["target"]), []).append(e)
    return groups.values()


def sound(folder, entries):
    """Before anything is planted: every test is there and passes."""
    for target in sorted({e["target"] for e in entries}):
        built = build(folder, target)
        if built.returncode != 0:
            sys.exit(f"{target} does not build:\n{built.stdout[-3000:]}")
    for target, chosen in sorted({(e["target"], e["filter"]) for e in entries}):
        done = run_test(folder, {"target": target, "filter": chosen})
        if done.returncode != 0 or tests_that_ran(done.stdout) == 0:
            sys.exit(f"{target} {chosen}: expected tests that pass before a mistake is planted\n{done.stdout[-2000:]}")


def key(entry):
    return f"| {entry['fixture']} | {entry['mistake']} | {entry['file']} |"


def known_results(table):
    if not table or not table.exists():
        return {}
    rows = [line.split(" | ") for line in table.read_text().splitlines() if line.startswith("| ")]
    return {" | ".join(row[:3]) + " |": row[-1].removesuffix(" |") for row in rows if len(row) == 5}


def write_table(table, entries, results):
    rows = []
    for e in entries:
        test = e["filter"].split(":")[0].lstrip("*")
        rows.append(f"{key(e)} `{test}` | {results.get(key(e), 'not run yet')} |")
    caught = sum(results.get(key(e), "").startswith("caught") for e in entries)
    ran = sum(results.get(key(e), "not run yet") != "not run yet" for e in entries)
    table.write_text(f"{INTRO}{len(entries)} mistakes, {ran} planted, {caught} caught.\n\n{HEAD}" + "\n".join(rows) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/dev", help="a configured build folder (Ninja)")
    parser.add_argument("--only", action="append", default=[], help="mistakes whose row has this text; may be repeated")
    parser.add_argument("--first", type=int, help="at most so many")
    parser.add_argument("--missing", action="store_true", help="only those of which the table has no result")
    parser.add_argument("--table", type=Path, help="a Markdown file to bring up to date")
    flags = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the source is put back

    entries = json.loads((HERE / "list.json").read_text())
    results = known_results(flags.table)
    chosen = [e for e in entries if not flags.only or any(text in key(e) for text in flags.only)]
    chosen = [e for e in chosen if not flags.missing or results.get(key(e), "not run yet") == "not run yet"][:flags.first]
    if chosen:
        sound(flags.build, chosen)
    escaped = 0
    for rows in planted_alike(chosen):
        start = time.monotonic()
        for e, result in zip(rows, plant(flags.build, rows)):
            results[key(e)] = result
            escaped += not result.startswith("caught")
            print(f"{result:<12} {time.monotonic() - start:6.1f} s  {e['fixture']}: {e['mistake']}", flush=True)
        if flags.table:
            write_table(flags.table, entries, results)
    if flags.table:
        write_table(flags.table, entries, results)
    for target in sorted({e["target"] for e in chosen}):
        build(flags.build, target)  # of the source as it is
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())
