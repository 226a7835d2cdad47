"""Folders that are no model: one clear error at once, never a crash, never a hang."""
import json
import os
import shutil
import struct

from harness import BF16, NVFP4, Program

CONFIG = (NVFP4 / "config.json").read_bytes()


class BrokenModels(Program):
    def folder_with(self, **files):
        """A new folder; file names are given with '__' for '.'."""
        folder = self.folder / f"model{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        for name, data in files.items():
            (folder / name.replace("__", ".")).write_bytes(data)
        return folder

    def refused(self, folder, *expected):
        for words in (["inspect", folder], ["run", folder, "--ids", "5", "--skip-tokenizer-init"], ["logits", folder, "--ids", "5"]):
            with self.subTest(words[0], folder=folder):
                self.fail_with(1, expected, *words)

    def test_missing_folder(self):
        self.refused(self.folder / "nowhere", "nowhere")

    def test_empty_folder(self):
        self.refused(self.folder_with(), "holds no weights")

    def test_only_pickles(self):
        self.refused(self.folder_with(config__json=CONFIG, **{"pytorch_model__bin": b"\x80\x02"}), "safetensors")

    def test_broken_weights(self):
        whole = (NVFP4 / "model.safetensors").read_bytes()
        for data in (b"", whole[:7], whole[:1000], whole[:len(whole) // 2], struct.pack("<Q", 1 << 63) + whole[8:],
                     struct.pack("<Q", (1 << 64) - 1), struct.pack("<Q", 2) + b"{}", struct.pack("<Q", 100000) + b"[" * 100000,
                     b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"):
            self.refused(self.folder_with(config__json=CONFIG, model__safetensors=data))

    def test_broken_config(self):
        whole = (NVFP4 / "model.safetensors").read_bytes()
        config = json.loads(CONFIG)
        broken = [b"", b"garbage", b"[" * 100000, b"null", b"[]", b"{}", b"\xff\xfe\x00", CONFIG[:200]]
        broken += [json.dumps({**config, **change}).encode() for change in (
            {"architectures": ["FrobnicateForCausalLM"]}, {"architectures": "x"}, {"architectures": []}, {"num_hidden_layers": -1},
            {"num_hidden_layers": 10**9}, {"num_hidden_layers": 1e300}, {"hidden_size": 0}, {"vocab_size": 2**31}, {"head_dim": 63},
            {"num_experts_per_tok": 10**6}, {"num_attention_heads": 0}, {"hidden_size": "many"})]
        for data in broken:
            self.refused(self.folder_with(config__json=data, model__safetensors=whole))

    def test_other_architecture_is_named(self):
        config = {**json.loads(CONFIG), "architectures": ["FrobnicateForCausalLM"]}
        self.refused(self.folder_with(config__json=json.dumps(config).encode(), model__safetensors=b"\2\0\0\0\0\0\0\0{}"),
                     "FrobnicateForCausalLM")

    def test_pipes_and_folders_instead_of_files(self):
        folder = self.folder_with(config__json=CONFIG)
        os.mkfifo(folder / "model.safetensors")
        self.refused(folder, "model.safetensors")
        folder = self.folder_with(config__json=CONFIG)
        (folder / "model.safetensors").mkdir()
        self.refused(folder)
        folder = self.folder_with()
        os.mkfifo(folder / "config.json")
        self.refused(folder)

    def test_missing_and_escaping_shards(self):
        folder = self.folder / "sharded"
        shutil.copytree(BF16, folder)
        (folder / "model-00002-of-00003.safetensors").unlink()
        self.refused(folder, "model-00002-of-00003.safetensors")
        index = json.loads((folder / "model.safetensors.index.json").read_text())
        for name in ("../../../../etc/passwd", "/etc/passwd", "/dev/zero", ""):
            index["weight_map"] = {tensor: name for tensor in index["weight_map"]}
            (folder / "model.safetensors.index.json").write_text(json.dumps(index))
            self.refused(folder)
