#!/usr/bin/env python3
"""Makes tests/data/longrope: a tiny random Llama with longrope scaling and transformers' float32 logits of a prompt within the
original context (short factors) and of one beyond it (long factors). Run with torch and transformers 4.57 installed:
  tools/make_longrope_fixture.py tests/data/longrope
"""
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

ORIGINAL, PAIRS = 32, 8

torch.manual_seed(11)
folder = Path(sys.argv[1])
config = LlamaConfig(
    vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    head_dim=16, max_position_embeddings=128, rms_norm_eps=1e-5, rope_theta=10000.0, bos_token_id=1, eos_token_id=2,
    tie_word_embeddings=False, original_max_position_embeddings=ORIGINAL,
    rope_scaling={"rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": ORIGINAL,
                  "short_factor": [1.0 + 0.05 * i for i in range(PAIRS)], "long_factor": [1.0 + 0.7 * i for i in range(PAIRS)]})
model = LlamaForCausalLM(config).to(torch.bfloat16)
with torch.no_grad():
    for name, weight in model.named_parameters():
        weight.copy_(1 + 0.1 * torch.randn_like(weight) if "norm" in name else torch.randn_like(weight) * 2 / weight.shape[-1] ** 0.5)
model.save_pretrained(folder)
model = model.float().eval()
references = {}
for name, length in (("short", 17), ("long", 70)):
    ids = torch.randint(3, 128, (1, length))
    references[name + ".ids"] = ids[0].to(torch.int32)
    references[name + ".logits"] = model(ids).logits[0, -8:].detach().contiguous()
save_file(references, folder / "ref.safetensors")
