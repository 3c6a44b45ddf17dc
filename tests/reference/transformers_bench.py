#!/usr/bin/env python3
"""Times the reference implementation (`transformers`) with the stages and the JSON keys of `gravityocr bench --json`.

    python transformers_bench.py --checkpoint tests/fixtures/real_size --threads 2 --dtype bf16

The folder may hold only a `config.json`: then the weights are random, which changes no time. Every stage is warmed up,
then timed `--runs` times; `ms` and `tokens_per_s` are medians, with `min_…` and `max_…` beside them. Stages:

    vision   tower and merger, from patches
    prefill  the prompt (image tokens and `--text-tokens` others) into an empty cache; logits of the last row
    ar       one token after the prompt
    draft    [x0, MASK x B] after the prompt: x0 sees the past and itself, the masks see the past and the whole window
    verify   B + 1 tokens after the prompt, causal

The cache is cut back to the prompt after every forward, outside the timed part. `spec` follows from draft, verify and
the number of accepted drafts that is assumed: a round commits accepted + 2 tokens in two forwards. MB are 10^6 bytes.

Needs torch and transformers (written for 5.24).
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from transformers import DynamicCache, GlmOcrConfig, GlmOcrForConditionalGeneration
from transformers.initialization import no_init_weights

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def read_json(folder, name):
    path = folder / name if folder else None
    return json.loads(path.read_text()) if path and path.exists() else {}


def load_model(folder, dtype):
    """The model, and whether its weights are random."""
    if folder and any(folder.glob("*.safetensors")):
        model = GlmOcrForConditionalGeneration.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa")
        return model.eval(), False
    config = GlmOcrConfig.from_pretrained(folder) if folder else GlmOcrConfig()
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(dtype)
    with no_init_weights():
        model = GlmOcrForConditionalGeneration(config)
    torch.set_default_dtype(torch.float32)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.fill_(1.0) if "norm" in name else weight.uniform_(-0.03, 0.03)
    return model.eval(), True


class Bench:
    """A model, a picture of random patches and a prompt about it; one method for each stage."""

    def __init__(self, model, folder, width, height, text_tokens):
        vision, text = model.config.vision_config, model.config.text_config
        diffusion = read_json(folder, "block_diffusion.json")
        self.model, self.core = model, model.model
        self.block = diffusion.get("bd_size", 32)
        # As the processor resizes a picture of ordinary size: to the nearest multiples of a token's side.
        side = vision.patch_size * vision.spatial_merge_size
        rows, columns = (round(n / side) * vision.spatial_merge_size for n in (height, width))
        self.grid = torch.tensor([[1, rows, columns]])
        self.patches = int(self.grid.prod())
        values = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
        self.pixels = torch.randn(self.patches, values)

        # The image stands in the middle of the text, as the chat template puts it; other ids are arbitrary.
        image = torch.full((self.patches // vision.spatial_merge_size**2,), model.config.image_token_id)
        words = torch.arange(1, text_tokens + 1)
        ids = torch.cat([words[: text_tokens // 2], image, words[text_tokens // 2 :]])[None]
        is_image = (ids == model.config.image_token_id).long()
        self.positions, delta = self.core.get_rope_index(ids, is_image, image_grid_thw=self.grid)
        self.prompt, self.next_position = ids.shape[1], ids.shape[1] + int(delta)
        self.embeds = torch.randn(1, self.prompt, text.hidden_size).to(model.dtype)
        self.token = torch.tensor([[1]])
        self.verify_ids = torch.arange(1, self.block + 2)[None]
        self.draft_ids = torch.full_like(self.verify_ids, diffusion.get("mask_id", text.vocab_size - 1))
        self.draft_ids[0, 0] = 1
        self.draft_mask = torch.ones(self.block + 1, self.prompt + self.block + 1, dtype=torch.bool)
        self.draft_mask[0, self.prompt + 1 :] = False
        self.cache = DynamicCache(config=model.config.text_config)

    def vision(self):
        self.core.get_image_features(self.pixels, self.grid)

    def prefill(self):
        self.cache = DynamicCache(config=self.model.config.text_config)
        self.model(
            inputs_embeds=self.embeds, position_ids=self.positions, cache=self.cache, use_cache=True, logits_to_keep=1
        )

    def after_prompt(self, ids, mask=None):
        """A forward on the cache: logits of every row and their arg-max."""
        positions = (torch.arange(ids.shape[1]) + self.next_position).expand(3, 1, -1)
        out = self.model(
            input_ids=ids, position_ids=positions, attention_mask=mask, cache=self.cache, use_cache=True
        )
        return out.logits.argmax(-1)

    def ar(self):
        self.after_prompt(self.token)

    def draft(self):
        self.after_prompt(self.draft_ids, self.draft_mask[None, None])

    def verify(self):
        self.after_prompt(self.verify_ids)

    def time(self, stage, runs, warmups):
        """Milliseconds of each run."""
        times = []
        for _ in range(warmups + runs):
            start = time.perf_counter()
            stage()
            times.append((time.perf_counter() - start) * 1e3)
            self.cache.crop(min(0, self.prompt - self.cache.get_seq_length()))
        return times[warmups:]


def spread(key, values, digits=3):
    """Median, minimum and maximum."""
    values = [round(v, digits) for v in values]
    return {key: statistics.median(values), f"min_{key}": min(values), f"max_{key}": max(values)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, help="folder with config.json (default: the class's own sizes)")
    parser.add_argument("--dtype", choices=DTYPES, default="bf16", help="weights and arithmetic (default bf16)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads (default: all)")
    parser.add_argument("--size", default="800x300", metavar="WxH", help="picture in pixels (default 800x300)")
    parser.add_argument("--text-tokens", type=int, default=11, help="prompt tokens beside the image (default 11)")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each stage (default 5)")
    parser.add_argument("--warmups", type=int, default=2, help="runs of each stage before (default 2)")
    parser.add_argument("--assume-accepted", type=float, default=17.4, metavar="N",
                        help="drafts accepted in each round (default 17.4)")
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    model, synthetic = load_model(args.checkpoint, DTYPES[args.dtype])
    width, height = map(int, args.size.split("x"))
    with torch.inference_mode():
        bench = Bench(model, args.checkpoint, width, height, args.text_tokens)
        # Prefill comes before the stages that need its cache.
        ms = {
            name: bench.time(getattr(bench, name), args.runs * (3 if name == "ar" else 1), args.warmups)
            for name in ("vision", "prefill", "ar", "draft", "verify")
        }

    committed = args.assume_accepted + 2
    rounds = [draft + verify for draft, verify in zip(ms["draft"], ms["verify"])]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    report = {name: spread("ms", ms[name]) for name in ("vision", "prefill", "draft", "verify")}
    report |= {
        "ar": spread("tokens_per_s", [1e3 / t for t in ms["ar"]]) | spread("ms", ms["ar"]),
        "spec": spread("tokens_per_s", [committed * 1e3 / t for t in rounds])
        | {"tpf": committed / 2, "accepted_per_round": args.assume_accepted},
        "peak_rss_mb": round(peak / 1e6, 1),
        "kernel": f"torch {torch.__version__}, transformers {transformers.__version__}",
        "threads": args.threads,
        "weights": args.dtype,
        "synthetic": synthetic,
        "patches": bench.patches,
        "prompt_tokens": bench.prompt,
        "block": bench.block,
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
