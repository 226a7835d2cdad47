#!/usr/bin/env python3
"""Writes tests/data/routing/goldens.json: routing decisions computed with numpy from the published formulas.

    python3 tools/make_routing_goldens.py tests/data/routing/goldens.json

Every formula is written out per method, as the models' own code states it, and not as points of one space; so this file shares
no idea with src/moe/routing.cpp. Scores are float64 rounded to float32; of equals the lower index comes first.
Logits are stored as the hexadecimal bits of float32, so nothing is lost in the text.
"""
import json
import sys

import numpy as np

F = np.float32


def stable_top(keys, k):
    keys = np.where(np.isnan(keys), -np.inf, keys)
    return np.argsort(-keys, kind="stable")[:k]


def softmax(z):
    z = z.astype(np.float64)
    e = np.exp(z - z.max())
    return e / e.sum()


def sigmoid(z):
    return 1 / (1 + np.exp(-z.astype(np.float64)))


def default(z, k):  # Qwen1.5-MoE: softmax over all, no renormalisation
    p = softmax(z).astype(F)
    i = stable_top(p, k)
    return i, p[i].astype(np.float64)


def renormalize(z, k):  # gpt-oss: top-k of the logits, softmax over those
    i = stable_top(z, k)
    return i, softmax(z[i])


def renormalize_naive(z, k):  # Mixtral, Qwen3-MoE: softmax over all, divided by the sum of the chosen
    i, w = default(z, k)
    return i, w / w.sum()


def deepseek_v3(z, k, bias, groups, kept, factor):
    s = sigmoid(z).astype(F)
    c = s + bias
    by_group = c.reshape(groups, -1)
    two_best = np.sort(by_group, axis=1)[:, -2:].sum(axis=1)
    mask = np.full(groups, False)
    mask[stable_top(two_best, kept)] = True
    i = stable_top(np.where(np.repeat(mask, by_group.shape[1]), c, F(-np.inf)), k)
    w = s[i].astype(np.float64)
    return i, w / (w.sum() + 1e-20) * factor


def deepseek_v2(z, k, groups, kept, factor):  # group_limited_greedy: softmax, a group is as good as its best
    p = softmax(z).astype(F)
    best = p.reshape(groups, -1).max(axis=1)
    mask = np.full(groups, False)
    mask[stable_top(best, kept)] = True
    i = stable_top(np.where(np.repeat(mask, len(z) // groups), p, F(0)), k)
    return i, p[i].astype(np.float64) * factor


def llama4(z, k):
    i = stable_top(z, k)
    return i, sigmoid(z[i])


def top_k(z, k):
    i = stable_top(z, k)
    return i, z[i].astype(np.float64)


def sigmoid_plain(z, k):
    s = sigmoid(z).astype(F)
    i = stable_top(s, k)
    return i, s[i].astype(np.float64)


def sigmoid_renorm(z, k):
    i, w = sigmoid_plain(z, k)
    return i, w / max(w.sum(), 1e-20)


def minimax2(z, k, bias):
    s = sigmoid(z).astype(F)
    i = stable_top(s + bias, k)
    w = s[i].astype(np.float64)
    return i, w / (w.sum() + 1e-20)


def deepseek_v4(z, k, bias, factor):
    z = z.astype(np.float64)
    s = np.sqrt(np.logaddexp(0, z)).astype(F)
    i = stable_top(s + bias, k)
    w = s[i].astype(np.float64)
    return i, w / max(w.sum(), 1e-20) * factor


def softmax_bias(z, k, bias):  # Ernie 4.5: chosen by probability + bias, weighed by probability, renormalised
    p = softmax(z).astype(F)
    i = stable_top(p + bias, k)
    w = p[i].astype(np.float64)
    return i, w / w.sum()


def to_bf16(x):
    u = np.asarray(x, dtype=F).view(np.uint32).astype(np.uint64)
    return (((u + 0x7FFF + ((u >> 16) & 1)) >> 16) << 16).astype(np.uint32).view(F)


METHODS = {  # name -> (function, needs bias, extra arguments)
    "default": (default, False, ()),
    "renormalize": (renormalize, False, ()),
    "renormalize_naive": (renormalize_naive, False, ()),
    "deepseek_v3": (deepseek_v3, True, (8, 4, 2.5)),
    "deepseek_v3_one_group": (deepseek_v3, True, (1, 1, 2.827)),
    "deepseek_v2_groups": (deepseek_v2, False, (8, 3, 16.0)),
    "llama4": (llama4, False, ()),
    "top_k": (top_k, False, ()),
    "sigmoid_renorm": (sigmoid_renorm, False, ()),
    "minimax2": (minimax2, True, ()),
    "sigmoid": (sigmoid_plain, False, ()),
    "top_k_sigmoid": (llama4, False, ()),
    "deepseek_v4": (deepseek_v4, True, (1.5,)),
    "softmax_bias": (softmax_bias, True, ()),
}


def bits(x):
    return "".join(f"{b:08x}" for b in np.asarray(x, dtype=F).view(np.uint32))


def make_case(name, method, z, k, bias=None):
    f, needs_bias, extra = METHODS[method]
    if method == "llama4":
        k = 1
    i, w = f(z, k, bias, *extra) if needs_bias else f(z, k, *extra)
    case = {"name": name, "method": method, "logits": bits(z), "ids": [int(e) for e in i], "weights": [float(F(x)) for x in w]}
    if needs_bias:
        case["bias"] = bits(bias)
    return case


def main(path):
    rng = np.random.default_rng(20240607)
    cases = []
    for method in METHODS:
        for experts, k in ((8, 2), (64, 6), (256, 8), (1024, 32)):
            z = rng.normal(0, 2, experts).astype(F)
            cases.append(make_case(f"normal E={experts}", method, z, k, rng.normal(0, 0.1, experts).astype(F)))
        for experts in (256, 96):
            z = rng.uniform(-30, -20, experts).astype(F)
            bias = rng.uniform(0, 1e-9, experts).astype(F)
            cases.append(make_case(f"all negative f32 E={experts}", method, z, 8, bias))
            cases.append(make_case(f"all negative bf16 E={experts}", method, to_bf16(z), 8, bias))
        z = np.array([1, 3, 3, 2, 3, 3, 2, 2] * 4, dtype=F)
        cases.append(make_case("ties", method, z, 6, np.zeros(32, dtype=F)))
    for method in ("deepseek_v3", "minimax2", "deepseek_v4"):
        # Around 0.5 all scores agree to 1e-4 and the bias decides, by less than a bf16 step (2^-9 there).
        z = rng.uniform(-2e-4, 2e-4, 64).astype(F)
        bias = (0.51 + rng.permutation(64) * 1e-4).astype(F)
        cases.append(make_case("bias finer than bf16", method, z, 6, bias))
    z = np.array([40, 39, 38, 37, 36, 35, 34, 33], dtype=F)[::-1].copy()
    cases.append(make_case("saturated sigmoid ties by index", "sigmoid", z, 3))
    cases.append(make_case("saturated sigmoid chosen by logit", "top_k_sigmoid", z, 3))
    cases.append(make_case("one finite logit", "renormalize_naive", np.array([-np.inf, -np.inf, 1.5, -np.inf], dtype=F), 1))
    z = rng.normal(0, 1, 16).astype(F)
    z[[2, 7, 9]] = -np.inf
    for method in ("default", "renormalize", "renormalize_naive", "sigmoid_renorm"):
        cases.append(make_case("some -inf", method, z, 4))
    with open(path, "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
