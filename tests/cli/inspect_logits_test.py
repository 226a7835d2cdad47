"""conclave inspect and conclave logits on the fixtures."""
import json
import shutil

from harness import BF16, NVFP4, SOURCE, Program, read_safetensors


class InspectLogits(Program):
    def test_inspect_says_what_it_is_and_what_runs_it(self):
        text = self.succeed("inspect", NVFP4, "--tensors").stdout
        for word in ("Qwen3MoeForCausalLM: 3 layers, hidden 256", "360 tensors", "NVFP4", "reference: can", "* cpu_latency: can",
                     "KV scales: 3 of 3 layers published", "model.layers.0.self_attn.k_proj.k_scale", "lm_head.weight"):
            self.assertIn(word, text)
        self.assertIn("Qwen3MoeForCausalLM: 8 layers", self.succeed("inspect").stdout)

    def test_inspect_tells_a_latent_cache_from_heads(self):
        folder = self.folder / "r1"
        folder.mkdir()
        (folder / "config.json").write_bytes((SOURCE / "tests" / "data" / "configs" / "deepseek-r1.json").read_bytes())
        text = self.succeed("inspect", folder, "--load-format", "dummy").stdout
        self.assertIn("128 heads that share one latent vector for keys and values", text)

    def test_float32_logits_are_the_published_ones(self):
        for folder in (BF16, NVFP4):
            reference = read_safetensors(folder / "ref.safetensors")
            ids = ",".join(map(str, reference["p1.ids"][1]))
            out = self.folder / "logits.safetensors"
            self.succeed("logits", folder, "--ids", ids, "--f32", "--out", out)
            shape, got = read_safetensors(out)["logits"]
            wanted_shape, wanted = reference["w.p1.logits"]
            self.assertEqual(shape, wanted_shape)
            error = sum((a - b) ** 2 for a, b in zip(got, wanted)) / sum(b * b for b in wanted)
            self.assertLess(error ** 0.5, 1e-4)

    def test_chunks_do_not_change_a_byte(self):
        ids = ",".join(map(str, read_safetensors(BF16 / "ref.safetensors")["p2.ids"][1]))
        files = []
        for chunk in ("1", "7", "512"):
            out = self.folder / f"{chunk}.safetensors"
            self.succeed("logits", BF16, "--ids", ids, "--f32", "--chunk", chunk, "--out", out)
            files.append(out.read_bytes())
        self.assertEqual(files[0], files[1])
        self.assertEqual(files[0], files[2])

    def test_a_look_at_the_scales_is_advised_only_where_there_are_some(self):
        for model, name, advised in ((NVFP4, "model.safetensors", True), (BF16, "model-00003-of-00003.safetensors", False)):
            folder = self.folder / model.name
            shutil.copytree(model, folder)
            data = bytearray((folder / name).read_bytes())
            header = 8 + int.from_bytes(data[:8], "little")
            at = header + json.loads(data[8:header])["model.norm.weight"]["data_offsets"][0]
            data[at:at + 2] = b"\x80\x7f"  # infinity in bf16
            (folder / name).write_bytes(data)
            done = self.fail_with(1, "logits that are not finite", "logits", folder, "--ids", "5")
            self.assertEqual("--deep" in done.stderr, advised)

    def test_a_router_that_is_no_number_is_refused(self):
        """Routing ranks NaN last, so without a look at the weights the logits would be finite and wrong."""
        for bits in (b"\xc0\x7f", b"\x80\x7f"):  # NaN and infinity in bf16
            folder = self.folder / bits.hex()
            shutil.copytree(NVFP4, folder)
            data = bytearray((folder / "model.safetensors").read_bytes())
            header = 8 + int.from_bytes(data[:8], "little")
            at = header + json.loads(data[8:header])["model.layers.1.mlp.gate.weight"]["data_offsets"][0]
            data[at:at + 2] = bits
            (folder / "model.safetensors").write_bytes(data)
            for words in ([], ["--f32"]):
                self.fail_with(1, ["model.layers.1.mlp.gate.weight", "row 0, column 0", "a finite number"], "logits", folder, "--ids", "5",
                               *words)

    def test_ids_outside_the_vocabulary(self):
        for word in ("512", "-1"):
            self.fail_with(2, f"{word} is not in the vocabulary (0 to 511)", "logits", BF16, f"--ids={word}")
