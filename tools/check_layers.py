#!/usr/bin/env python3
"""Fails when a room includes a header of a higher room, or a header that only some places may include.

The order below is the architecture (docs/architecture.md). Run from anywhere: tools/check_layers.py [root]
"""
import pathlib
import re
import sys

ORDER = ["base", "tensor", "io", "hub", "device", "quant", "checkpoint", "kernels", "ops", "comm", "moe", "nn", "models", "text",
         "engine", "server", "cli"]
RANK = {room: i for i, room in enumerate(ORDER)}
STRANGERS = {("models", "text"), ("text", "models")}      # rooms that do not know one another
TEXT_NEEDS = {"base", "io", "text"}
CUDA_PLACES = ("src/device/cuda/", "src/ops/cuda/", "src/kernels/cuda/")
ISA_PLACE = re.compile(r"src/kernels/cpu/(scalar|avx2|avx512)/")
ISA_MAY = re.compile(r'^(immintrin\.h|std(int|def|bool)\.h|string\.h|math\.h|float\.h)$')
INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')


def problems_of(path, name):
    room = name.split("/")[1]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match[1] == '"', match[2]
        other = header.split("/")[0] if quoted and "/" in header else None
        if other in RANK:
            if RANK[other] > RANK[room]:
                yield number, f"{room} must not include {other}, which is above it"
            if (room, other) in STRANGERS or (room == "text" and other not in TEXT_NEEDS):
                yield number, f"{room} must not know {other}"
        if re.match(r"cuda|cublas|cutlass|nccl|cub/|thrust/", header) and not name.startswith(CUDA_PLACES):
            yield number, f"CUDA headers belong in {', '.join(CUDA_PLACES)}"
        if ISA_PLACE.match(name) and not (
                (quoted and (header == "kernels/cpu/table.h" or header.endswith(".inc") or "/" not in header
                             or header.startswith("kernels/cpu/")))
                or (not quoted and ISA_MAY.match(header))):
            yield number, f"instruction-set code may include table.h, C headers and <immintrin.h> only, not {header}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    files = sorted(p for p in (root / "src").rglob("*") if p.suffix in {".h", ".cpp", ".cu", ".cuh", ".inc"})
    found = [(p.relative_to(root).as_posix(), n, words) for p in files for n, words in problems_of(p, p.relative_to(root).as_posix())]
    for name, number, words in found:
        print(f"{name}:{number}: {words}")
    print(f"{len(files)} files, {len(found)} problems")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
