#!/usr/bin/env python3
"""Makes one fixture of tests/data: a tiny random checkpoint in its publisher's layout, with logits and greedy tokens by Hugging Face
transformers in float32. What the files hold: docs/add-a-model.md. Run with torch and transformers 5.17 installed:
  tools/make_fixture.py glm4_moe tests/data/fixtures/glm4_moe-bf16
"""
import copy
import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file

VOCAB, PROMPTS, NEW_TOKENS, LAST = 128, (1, 17, 70), 24, 8
LOGIT_STD = 4.0  # below it greedy margins are lost in any noise
MOST_NOISE = 0.02  # of bf16, rms: above it an expert or a token flipped, which would hide everything else

COMMON = dict(vocab_size=VOCAB, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, rms_norm_eps=1e-5)
WINDOW = dict(use_sliding_window=True, sliding_window=24, max_window_layers=1)  # of three layers the last two
MODELS = {
    "qwen2": ("Qwen2", dict(
        hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6}, **WINDOW)),
    "qwen3": ("Qwen3", dict(
        hidden_size=64, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=24,
        attention_bias=True, rope_parameters={"rope_type": "default", "rope_theta": 1e6}, **WINDOW)),
    "mistral": ("Mistral", dict(
        hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=1, head_dim=24,
        sliding_window=24, rope_parameters={"rope_type": "default", "rope_theta": 1e4})),
    "glm4_moe": ("Glm4Moe", dict(
        hidden_size=48, intermediate_size=72, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, head_dim=16,
        attention_bias=True, use_qk_norm=True, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2,
        moe_intermediate_size=24, first_k_dense_replace=1, n_group=2, topk_group=1, norm_topk_prob=True, routed_scaling_factor=2.5,
        num_nextn_predict_layers=1,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5})),
    # Factors for 8 pairs; transformers takes the short ones for a prompt within the original context, the long ones beyond it.
    "longrope": ("Llama", dict(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
        rope_parameters={"rope_type": "longrope", "rope_theta": 1e4, "factor": 8.0, "original_max_position_embeddings": 32,
                         "short_factor": [1.0 + 0.05 * i for i in range(8)], "long_factor": [1.0 + 0.7 * i for i in range(8)]})),
}


def random_model(family, settings, seed):
    torch.manual_seed(seed)
    config = getattr(transformers, family + "Config")(**COMMON, **settings)
    config._attn_implementation = "eager"
    model = getattr(transformers, family + "ForCausalLM")(config).eval()
    with torch.no_grad():
        for name, weight in [*model.named_parameters(), *model.named_buffers()]:
            if "norm" in name:
                weight.copy_(1 + 0.1 * torch.randn_like(weight))
            elif name.endswith("e_score_correction_bias"):
                weight.copy_(0.3 * torch.randn_like(weight))
            elif name.endswith("bias"):
                weight.copy_(0.3 * torch.randn_like(weight))
            elif weight.ndim >= 2:
                weight.copy_(torch.randn_like(weight) * 1.2 / weight.shape[-1] ** 0.5)
        model.model.norm.weight *= LOGIT_STD / model(prompts(seed)[-1][None]).logits.std()
        for name, weight in model.named_parameters():
            weight.copy_(weight.bfloat16())
    return model


def prompts(seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, VOCAB, (length,), generator=generator) for length in PROMPTS]


@torch.no_grad()
def references(model, ids):
    out = {}
    for p, prompt in enumerate(ids):
        logits = model(prompt[None]).logits[0]
        out[f"p{p}.ids"] = prompt.to(torch.int32)
        out[f"w.p{p}.logits" if p < 2 else "w.p2.logits_last8"] = logits[-LAST:].contiguous() if p == 2 else logits
        sequence, greedy, margins = prompt, [], []
        for _ in range(NEW_TOKENS):
            best = model(sequence[None]).logits[0, -1].topk(2)
            greedy.append(best.indices[0])
            margins.append(best.values[0] - best.values[1])
            sequence = torch.cat([sequence, best.indices[:1]])
        out[f"w.p{p}.greedy"] = torch.stack(greedy).to(torch.int32)
        out[f"w.p{p}.margin"] = torch.stack(margins)
    return out


@torch.no_grad()
def noise_of_bf16(model, ids):
    """The worst of all prompts, of the same model with weights and activations in bf16."""
    rounded = copy.deepcopy(model).bfloat16()
    noise = {"cos_min": 1.0, "max_abs": 0.0, "max_rel": 0.0, "rms_rel": 0.0}
    for prompt in ids:
        exact, got = model(prompt[None]).logits[0].double(), rounded(prompt[None]).logits[0].double()
        difference = (got - exact).abs()
        cosines = torch.nn.functional.cosine_similarity(got, exact)
        noise["cos_min"] = min(noise["cos_min"], cosines.min().item())
        noise["max_abs"] = max(noise["max_abs"], difference.max().item())
        noise["max_rel"] = max(noise["max_rel"], (difference.max() / exact.abs().max()).item())
        noise["rms_rel"] = max(noise["rms_rel"], (difference.pow(2).mean().sqrt() / exact.pow(2).mean().sqrt()).item())
    return noise


def hub_style(config):
    """The keys that publishers use, who write with transformers 4."""
    out = dict(config)
    rope = dict(out.pop("rope_parameters"))
    out["rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        out["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    out["rope_scaling"] = rope if rope["rope_type"] != "default" else None
    out["torch_dtype"] = out.pop("dtype")
    out.pop("layer_types", None)
    return out


def save(model, folder):
    """Weights in bf16 but for the routers' biases, which publishers keep in float32; a multi-token prediction layer that is not run."""
    biases = {name: value.clone() for name, value in model.state_dict().items() if name.endswith("e_score_correction_bias")}
    copy.deepcopy(model).bfloat16().save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors") | biases
    config = json.loads((folder / "config.json").read_text())
    if config.get("num_nextn_predict_layers") or config.get("num_mtp_layers"):
        at, hidden = f"model.layers.{config['num_hidden_layers']}.", config["hidden_size"]
        tensors |= {at + "eh_proj.weight": torch.randn(hidden, 2 * hidden).bfloat16(),
                    at + "enorm.weight": torch.ones(hidden).bfloat16(), at + "hnorm.weight": torch.ones(hidden).bfloat16()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.hub.json").write_text(json.dumps(hub_style(config), indent=2, sort_keys=True) + "\n")


@torch.no_grad()
def check(folder, family, model, prompt):
    """What was written must say the same, to transformers, in both styles of configuration."""
    config_class, model_class = getattr(transformers, family + "Config"), getattr(transformers, family + "ForCausalLM")
    expected = model(prompt[None]).logits
    for name in ("config.json", "config.hub.json"):
        config = config_class.from_json_file(folder / name)
        read = model_class.from_pretrained(folder, config=config, dtype=torch.float32, attn_implementation="eager").eval()
        if not torch.equal(read(prompt[None]).logits, expected):
            sys.exit(f"{name}: the model that transformers reads gives other logits than the one that was saved")


def main():
    arch, folder = sys.argv[1], Path(sys.argv[2])
    family, settings = MODELS[arch]
    for seed in range(1, 100):
        model, ids = random_model(family, settings, seed), prompts(seed)
        noise = noise_of_bf16(model, ids)
        if noise["rms_rel"] <= MOST_NOISE:
            break
    else:
        sys.exit(f"no seed below 100 keeps the noise of bf16 under {MOST_NOISE}")
    folder.mkdir(parents=True, exist_ok=True)
    save(model, folder)
    check(folder, family, model, ids[-1])
    save_file(references(model, ids), folder / "ref.safetensors")
    meta = {"arch": model.config.model_type, "format": "bf16", "seed": seed, "noise_bf16": noise}
    (folder / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")
    print(arch, meta, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


main()
