"""Checksums (CRC-32 of little-endian results) of exhaustive conversions by numpy and ml_dtypes; number_test.cpp compares with them."""
import zlib

import ml_dtypes
import numpy as np

np.seterr(all="ignore")
bf16_values = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)


def checksum(array):
    return f"0x{zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}"


halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
print("f16 decode", checksum(np.where(np.isnan(halves), np.float32(0), halves)))

fives = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float32)
print("f8e5m2 decode", checksum(np.where(np.isnan(fives), np.float32(0), fives)))

clamped = np.clip(bf16_values, -57344, 57344)
codes = np.where(np.isnan(clamped), np.float32(0), clamped).astype(ml_dtypes.float8_e5m2).view(np.uint8)
print("f8e5m2 encode of all bf16", checksum(codes))

scattered = (np.arange(1 << 20, dtype=np.uint64) * 2654435761 % (1 << 32)).astype(np.uint32).view(np.float32)
finite = np.where(np.isnan(scattered), np.float32(0), scattered)
print("bf16 encode of 2^20 floats", checksum(finite.astype(ml_dtypes.bfloat16).view(np.uint16)))
print("f8e4m3 encode of 2^20 floats", checksum(np.clip(finite, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)))
print("f8e5m2 encode of 2^20 floats", checksum(np.clip(finite, -57344, 57344).astype(ml_dtypes.float8_e5m2).view(np.uint8)))
small = (scattered.view(np.uint32) >> 8).astype(np.float32) * np.float32(2.0**-27) - np.float32(0.0625)
print("f8e4m3 encode near zero", checksum(small.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)))
fours = (scattered.view(np.uint32) >> 8).astype(np.float32) * np.float32(2.0**-20) - np.float32(8)
print("e2m1 encode of -8..8", checksum(np.clip(fours, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)))
