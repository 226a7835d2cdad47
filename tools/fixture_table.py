#!/usr/bin/env python3
"""Writes docs/fixtures.md: what models_test measured on each fixture, beside what it allows.

    build/dev/tests/models/models_test --gtest_filter='*FixtureTest.The*' | tools/fixture_table.py > docs/fixtures.md

Reads the lines "fixture config tag.prompt: max_rel .. rms_rel .. 1-cos .." and the names of the tests around them; a test that
failed, or a fixture without both paths, stops it. Architecture, format and noise floors come from the fixtures' meta.json.
"""
import json
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
FOLDERS = (SOURCE / "tests/data/fixtures", SOURCE.parent / "shared/fixtures")
PATHS = {"TheReferencePathEqualsTransformers": "float32", "TheFastPathIsWithinTheNoiseOfBf16": "fast"}
# As tests/models/fixture_test.cpp has them: the float32 path's limits, and the fast path's as multiples of the noise of bf16.
FLOAT32_LIMITS = (5e-6, 5e-6, 2e-11)
FAST_FACTORS = (2, 2, 3)
MEASURED = re.compile(r"(\S+) +(\S+) +w\.p\d: max_rel (\S+) rms_rel (\S+) 1-cos (\S+)")
INTRO = """# Fixtures: measured errors

Tiny random checkpoints in the published layouts, with logits by Hugging Face transformers 5.17 in float32 (nothing of ours made them). `models_test`
compares all logits that a fixture stores: prompts of 1 and 17 tokens, and the last 8 positions of one of 70. Shown is the worst of the three prompts.

- `max_rel`: largest difference by largest logit; `rms_rel`: root mean square of the difference by that of the logits; `1-cos`: of the worst position.
- **float32**: reference operations, float32 keys and values. Allowed: max_rel {0:.0e}, rms_rel {1:.0e}, 1-cos {2:.0e}, for all fixtures.
- **fast**: the CPU's kernels, bf16 keys and values, as measured / allowed. Allowed is {3} x, {4} x and {5} x the error that bf16 makes in transformers with the same
  model (`noise_bf16` in its `meta.json`; {5} x for 1-cos).
- **config**: `5` is `config.json` with the keys of transformers 5, `hub` is `config.hub.json` with those of the publisher; `both` where all six numbers are the same.

Where a few positions of transformers' own bf16 run are far off (1-cos of about 1e-2: gpt_oss-mxfp4 and -ragged), much is allowed to the
fast path; there the float32 columns judge.

Made by `tools/fixture_table.py` from the lines that `models_test` prints (its first lines say how) on {6}. Fixtures marked * are in the
tree, the others lie beside it (`../shared/fixtures`). How one is made: [add-a-model.md](add-a-model.md).

| fixture | architecture | format | config | float32: max_rel | rms_rel | 1-cos | fast: max_rel | rms_rel | 1-cos |
|---|---|---|---|---|---|---|---|---|---|
"""


def read_measurements(lines):
    """{fixture: {config: {path: worst of (max_rel, rms_rel, 1-cos)}}}"""
    worst, path = {}, None
    for line in lines:
        if "FAILED" in line:
            sys.exit(f"a test failed: {line.strip()}")
        if "[ RUN " in line:
            path = next((words for test, words in PATHS.items() if test in line), None)
        found = MEASURED.match(line)
        if found and path:
            name, config = found.group(1, 2)
            numbers = [float(x) for x in found.group(3, 4, 5)]
            paths = worst.setdefault(name, {}).setdefault(config, {})
            paths[path] = [max(pair) for pair in zip(paths.get(path, numbers), numbers)]
    return worst


def read_meta(name):
    for folder in FOLDERS:
        if (folder / name / "meta.json").exists():
            return json.loads((folder / name / "meta.json").read_text()), "*" if folder == FOLDERS[0] else ""
    sys.exit(f"{name}: no meta.json under {' or '.join(map(str, FOLDERS))}")


def row(name, config, paths):
    if set(paths) != set(PATHS.values()):
        sys.exit(f"{name} {config}: expected both paths, found {sorted(paths)}")
    meta, mark = read_meta(name)
    noise = meta["noise_bf16"]
    floors = (noise["max_rel"], noise["rms_rel"], 1 - noise["cos_min"])
    allowed = [factor * floor for factor, floor in zip(FAST_FACTORS, floors)]
    if any(got > limit for got, limit in zip(paths["float32"] + paths["fast"], [*FLOAT32_LIMITS, *allowed])):
        sys.exit(f"{name} {config}: more than is allowed, and no test failed: the limits here are not those of the test")
    cells = [f"{got:.1e}" for got in paths["float32"]] + [f"{got:.1e} / {limit:.1e}" for got, limit in zip(paths["fast"], allowed)]
    return f"| {name}{mark} | {meta['arch']} | {meta['format']} | {config} | " + " | ".join(cells) + " |"


def machine():
    text = Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", text)
    isa = next((words for flag, words in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in text.split()), "neither AVX2 nor AVX-512")
    return f"{name.group(1).strip() if name else 'an unnamed CPU'} with {isa}"


def main():
    measured = read_measurements(sys.stdin)
    if not measured:
        sys.exit("found no measured line: run models_test with --gtest_filter='*FixtureTest.The*'")
    rows = []
    for name, configs in sorted(measured.items()):
        if set(configs) != {"config.json", "config.hub.json"}:
            sys.exit(f"{name}: expected both config styles, found {sorted(configs)}")
        if configs["config.json"] == configs["config.hub.json"]:
            rows.append(row(name, "both", configs["config.json"]))
        else:
            rows += [row(name, "5", configs["config.json"]), row(name, "hub", configs["config.hub.json"])]
    print(INTRO.format(*FLOAT32_LIMITS, *FAST_FACTORS, machine()) + "\n".join(rows))


if __name__ == "__main__":
    main()
