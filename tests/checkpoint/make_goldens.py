"""Makes tests/data/safetensors/reference.safetensors with the reference implementation (PyPI: safetensors, numpy, ml_dtypes).

The values are simple functions of the index, which safetensors_test.cpp computes again:
  python3 tests/checkpoint/make_goldens.py tests/data/safetensors
and it judges what safetensors_writer wrote, when given a file more:
  python3 tests/checkpoint/make_goldens.py tests/data/safetensors written.safetensors
"""
import pathlib
import sys

import ml_dtypes
import numpy
from safetensors.numpy import load_file, save_file

TYPES = {
    "u64": numpy.uint64, "i64": numpy.int64, "f64": numpy.float64, "u32": numpy.uint32, "i32": numpy.int32, "f32": numpy.float32,
    "u16": numpy.uint16, "i16": numpy.int16, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "u8": numpy.uint8, "i8": numpy.int8,
    "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2, "f8e8m0": ml_dtypes.float8_e8m0fnu, "bool": numpy.bool_,
}


def tensors():
    out = {}
    for name, dtype in TYPES.items():
        width = numpy.dtype(dtype).itemsize
        values = numpy.arange(3 * 5 * width, dtype=numpy.uint8) % 7 if name != "bool" else numpy.arange(15, dtype=numpy.uint8) % 2
        out["t." + name] = numpy.frombuffer(values.tobytes(), dtype=dtype).reshape(3, 5)
    out["scalar"] = numpy.array(1.5, numpy.float32)
    out["empty"] = numpy.zeros((0, 4), numpy.int8)
    out["rank 4 \"\\ é"] = numpy.arange(24, dtype=numpy.int32).reshape(1, 2, 3, 4)
    return out


folder = pathlib.Path(sys.argv[1])
save_file(tensors(), folder / "reference.safetensors")
for written in sys.argv[2:]:
    found = load_file(written)
    expected = tensors()
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape, name
        assert found[name].tobytes() == value.tobytes(), name
    same = pathlib.Path(written).read_bytes() == (folder / "reference.safetensors").read_bytes()
    print(f"{written}: {len(found)} tensors equal, bytes {'equal' if same else 'differ'}")
