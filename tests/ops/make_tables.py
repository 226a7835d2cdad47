#!/usr/bin/env python3
"""Writes tests/data/ops/tables.json: what operations must give, computed with numpy in float64 from their definitions.

Independent of the C++ code on purpose: attention is a masked softmax over dense matrices, rotation is a complex product.
Inputs are float32 numbers; results are float64. Run: python3 tests/ops/make_tables.py (needs numpy).
"""
import json
import math
import pathlib

import numpy as np

rng = np.random.default_rng(20250711)


def numbers(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def flat(a):
    return [float(v) for v in np.asarray(a).reshape(-1)]


def rms_norm():
    cases = []
    for rows, dim, eps, weighted in [(3, 5, 1e-6, True), (2, 64, 1e-5, False), (1, 1, 1e-6, True)]:
        x = numbers(rows, dim)
        weight = numbers(dim) if weighted else None
        wide = x.astype(np.float64)
        eps32 = float(np.float32(eps))
        out = wide / np.sqrt(np.mean(wide**2, axis=1, keepdims=True) + eps32)
        if weighted:
            out = out * weight.astype(np.float64)
        cases.append(dict(rows=rows, dim=dim, eps=eps32, x=flat(x), weight=flat(weight) if weighted else [], out=flat(out)))
    return cases


def rope():
    cases = []
    for head_dim, rotary_dim, interleaved, magnitude in [(8, 8, False, 1.0), (8, 4, False, 1.0), (10, 6, True, 1.3465736),
                                                          (8, 8, True, 1.0)]:
        heads, positions = 2, [0, 3, 70001]
        inv_freq = (10000.0 ** (-np.arange(0, rotary_dim, 2) / rotary_dim)).astype(np.float32)
        x = numbers(len(positions), heads, head_dim)
        out = x.astype(np.float64)
        angle = (np.array(positions, np.float32)[:, None] * inv_freq[None, :]).astype(np.float64)  # a float32 product
        turn = np.exp(1j * angle)[:, None, :] * float(np.float32(magnitude))
        half = rotary_dim // 2
        first = slice(0, rotary_dim, 2) if interleaved else slice(0, half)
        second = slice(1, rotary_dim, 2) if interleaved else slice(half, rotary_dim)
        turned = (out[:, :, first] + 1j * out[:, :, second]) * turn
        out[:, :, first], out[:, :, second] = turned.real, turned.imag
        cases.append(dict(heads=heads, head_dim=head_dim, rotary_dim=rotary_dim, interleaved=interleaved,
                          magnitude=float(np.float32(magnitude)), positions=positions, inv_freq=flat(inv_freq), x=flat(x),
                          out=flat(out)))
    return cases


def attention():
    cases = []
    for heads, kv_heads, head_dim, window, chunk, sinks, latent in [
        (4, 2, 4, 0, 0, False, 0), (2, 2, 4, 3, 0, False, 0), (4, 1, 4, 0, 4, False, 0), (2, 1, 6, 0, 0, True, 0),
        (4, 2, 4, 3, 0, True, 0), (4, 1, 6, 0, 0, False, 4)]:  # latent: values are the first so many dimensions of the keys
        scale = float(np.float32(head_dim**-0.5))
        sink = numbers(heads) if sinks else np.zeros(0, np.float32)
        sequences = []
        for context, rows in [(9, 9), (7, 2), (1, 1)]:
            q, k, v = numbers(rows, heads, head_dim), numbers(context, kv_heads, head_dim), numbers(context, kv_heads, head_dim)
            if latent:
                v = k[:, :, :latent]
            own = np.repeat(np.arange(kv_heads), heads // kv_heads)
            scores = np.einsum("rhd,chd->hrc", q.astype(np.float64), k.astype(np.float64)[:, own]) * scale
            row, column = np.arange(context - rows, context)[:, None], np.arange(context)[None, :]
            seen = column <= row
            if window:
                seen &= column > row - window
            if chunk:
                seen &= column // chunk == row // chunk
            scores = np.where(seen[None], scores, -np.inf)
            if sinks:  # one more column, dropped after the softmax
                scores = np.concatenate([scores, np.broadcast_to(sink.astype(np.float64)[:, None, None], (heads, rows, 1))], axis=2)
            weights = np.exp(scores - scores.max(axis=2, keepdims=True))
            weights = (weights / weights.sum(axis=2, keepdims=True))[:, :, :context]
            out = np.einsum("hrc,chd->rhd", weights, v.astype(np.float64)[:, own])
            sequences.append(dict(context=context, rows=rows, q=flat(q), k=flat(k), v=flat(v), out=flat(out)))
        cases.append(dict(heads=heads, kv_heads=kv_heads, head_dim=head_dim, window=window, chunk=chunk, scale=scale,
                          sinks=flat(sink), value_dim=latent, sequences=sequences))
    return cases


def activations():
    gate = np.array([-20, -3, -1, -0.5, 0, 0.25, 1, 2, 3.5, 20], np.float32)
    up = np.array([1, -2, 0.5, 3, 4, -1, 1, 0.25, -2, 1.5], np.float32)
    wide = [float(g) for g in gate]
    kinds = dict(
        silu=[g / (1 + math.exp(-g)) for g in wide],
        gelu=[0.5 * g * math.erfc(-g / math.sqrt(2)) for g in wide],
        gelu_tanh=[g / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (g + 0.044715 * g**3))) for g in wide],
        relu2=[max(g, 0) ** 2 for g in wide])
    return dict(gate=flat(gate), up=flat(up), alone=kinds,
                gated={name: [a * float(u) for a, u in zip(values, up)] for name, values in kinds.items()})


tables = dict(rms_norm=rms_norm(), rope=rope(), attention=attention(), activations=activations())
path = pathlib.Path(__file__).resolve().parent.parent / "data" / "ops" / "tables.json"
path.write_text(json.dumps(tables, separators=(",", ":")) + "\n")
print(path, path.stat().st_size, "bytes")
