#!/usr/bin/env python3
"""Fails when a room includes a header of a higher room, or a header that only some places may include.

The rooms and their order are the architecture (docs/architecture.md). Run from anywhere: tools/check_layers.py [root]
"""
import pathlib
import re
import sys

ORDER = ["base", "tensor", "io", "hub", "device", "quant", "checkpoint", "kernels", "ops", "moe", "nn", "models", "text", "engine",
         "cli"]
RANK = {room: i for i, room in enumerate(ORDER)}
KNOWS_ONLY = {"hub": {"base", "io"}, "text": {"base", "io"}}
KNOWN_ONLY_TO = {"kernels": {"ops", "moe", "cli"},  # all others compute through ops; cli shows which kernels there are
                 "text": {"engine", "cli"}}
CUDA_PLACES = ("src/device/cuda/", "src/ops/cuda/", "src/kernels/cuda/")
ISA_PLACE = re.compile(r"src/kernels/cpu/(?!dispatch\.)")  # compiled for an instruction set, or included by what is
ISA_MAY = re.compile(r'"kernels/cpu/(table\.h|.*\.inc)|<(immintrin|stdint|stddef|stdbool|string|math|float)\.h')
INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')


def problems_of(path, name):
    room = name.split("/")[1] if name.count("/") > 1 else None  # none: the library over all rooms
    if room is not None and room not in RANK:
        yield 1, f"{room} is not a room: list it in {pathlib.Path(__file__).name}"
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match[1] == '"', match[2]
        other = header.split("/")[0] if quoted and "/" in header else None
        if room is not None and other in RANK and other != room:
            if RANK[other] > RANK[room]:
                yield number, f"{room} must not include {other}, which is above it"
            elif other not in KNOWS_ONLY.get(room, RANK) or room not in KNOWN_ONLY_TO.get(other, RANK):
                yield number, f"{room} must not know {other}"
        if re.match(r"cuda|cublas|cutlass|nccl|cub/|thrust/", header) and not name.startswith(CUDA_PLACES):
            yield number, f"CUDA headers belong in {', '.join(CUDA_PLACES)}"
        if ISA_PLACE.match(name) and not ISA_MAY.fullmatch(match[1] + header):
            yield number, f"instruction-set code may include table.h, its .inc files, C headers and <immintrin.h> only, not {header}"


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
