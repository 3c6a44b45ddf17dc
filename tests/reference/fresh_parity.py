#!/usr/bin/env python3
"""Makes small random checkpoints of many shapes and what the reference implementation (`transformers`) computes on them.

    python fresh_parity.py --out /tmp/fresh --seed 7
    GRAVITYOCR_FRESH_FIXTURES=/tmp/fresh cargo test -p engine fresh_checkpoints

Another seed gives other weights, pictures and tokens, so that the engine is checked on numbers that nobody has looked
at. `--out` receives

    NAME/                         a complete checkpoint folder
    cases/NAME/resized.png        a picture that the image processor leaves at its size
    cases/NAME/case.json          the windows of the forced forwards, the logits' deviation, the errors of bfloat16
    cases/NAME/tensors.safetensors
        prompt_ids [T], pooler_output [M, hidden]                  the prompt, the image tokens
        greedy_ids [12], greedy_logits [12, vocab]                 the first row is the prefill's
        draft_logits_k, verify_logits_k [B + 1, vocab]             forced windows after no (k = 0) and 7 (k = 1) tokens

Everything is computed in f32 without a cache, under explicit masks, from the weights as they are stored. `bf16_error` and
`bf16_rms_error` tell how far the logits of the reference's own bfloat16 run are from that (the largest and the root mean
square distance): an engine that computes in bfloat16 may err as much.

Needs torch, transformers (written for 5.24), tokenizers, safetensors, numpy, pillow.
"""

import argparse
import json
import math
import os
import shutil
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import GenerationConfig, GlmOcrConfig, GlmOcrForConditionalGeneration

TINY = Path(__file__).resolve().parent.parent / "fixtures" / "glm_ocr_tiny"
PROMPT = "[gMASK]<sop><|user|>\n<|begin_of_image|>{image}<|end_of_image|>Text Recognition:<|assistant|>\n"
GREEDY = 12
COMMITTED = [0, 7]

# Text: hidden size, MLP, layers, heads, KV heads, M-RoPE sections (half of head_dim), vocabulary (597 ids are in use).
# Vision: hidden size, MLP, blocks, heads. Then: tied head, stored type, block size, picture.
SHAPES = {
    "one_kv_head": ((80, 100, 3, 8, 1, (1, 3, 7), 611), (36, 52, 2, 3), True, torch.float32, 5, (112, 84)),
    "no_groups": ((57, 35, 2, 3, 3, (1, 1, 3), 601), (20, 30, 3, 1), False, torch.float32, 1, (56, 168)),
    "wide_heads": ((66, 130, 2, 6, 2, (23, 20, 21), 640), (96, 70, 2, 2), False, torch.float32, 40, (196, 84)),
    "bf16": ((192, 320, 3, 6, 2, (8, 12, 12), 1000), (128, 200, 2, 4), False, torch.bfloat16, 8, (168, 112)),
    "bf16_odd_tied": ((99, 77, 2, 5, 5, (5, 1, 3), 603), (44, 51, 2, 11), True, torch.bfloat16, 3, (84, 112)),
    "bf16_published_heads": ((384, 1152, 2, 16, 8, (16, 24, 24), 1201), (256, 272, 2, 4), False, torch.bfloat16, 32,
                             (224, 84)),
}


def make_model(shape, gen):
    (hidden, mlp, layers, heads, kv_heads, sections, vocab), (width, vision_mlp, depth, vision_heads), tied, dtype, *_ = shape
    config = json.loads((TINY / "config.json").read_text())
    config["tie_word_embeddings"] = tied
    config["text_config"] |= dict(
        hidden_size=hidden, intermediate_size=mlp, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=kv_heads, head_dim=2 * sum(sections), vocab_size=vocab, tie_word_embeddings=tied,
    )
    config["text_config"]["rope_parameters"]["mrope_section"] = list(sections)
    config["vision_config"] |= dict(
        hidden_size=width, intermediate_size=vision_mlp, depth=depth, num_heads=vision_heads, out_hidden_size=hidden
    )
    config = GlmOcrConfig.from_dict(config)
    config._attn_implementation = "eager"
    model = GlmOcrForConditionalGeneration(config).eval()
    # No norm weight is one and no bias zero, so that a forgotten or exchanged tensor shows.
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            noise = torch.randn(weight.shape, generator=gen)
            if "norm" in name and name.endswith("weight"):
                noise = 1 + 0.2 * noise
            elif name.endswith("bias"):
                noise *= 0.1
            elif "embed_tokens" in name or "lm_head" in name:
                noise *= 2.5 / math.sqrt(hidden)
            else:
                noise *= 1.3 / math.sqrt(weight[0].numel())
            weight.copy_(noise.to(dtype))
    return model


def cast(model, dtype):
    """Parameters only: the rotary frequencies stay f32, as after `from_pretrained`."""
    for weight in model.parameters():
        weight.data = weight.data.to(dtype)
    return model


def write_checkpoint(folder, model, dtype, block):
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "preprocessor_config.json"):
        shutil.copyfile(TINY / name, folder / name)
    diffusion = json.loads((TINY / "block_diffusion.json").read_text()) | {"bd_size": block}
    (folder / "block_diffusion.json").write_text(json.dumps(diffusion))
    model.generation_config = GenerationConfig(**json.loads((TINY / "generation_config.json").read_text()))
    cast(model, dtype).save_pretrained(folder)
    cast(model, torch.float32)
    return diffusion["mask_id"]


def patches(image):
    """Pixels as the tower wants them: normalised, the frame twice, 14 x 14 patches in 2 x 2 merge windows."""
    settings = json.loads((TINY / "preprocessor_config.json").read_text())
    mean, std = (np.array(settings[key]) for key in ("image_mean", "image_std"))
    x = (np.asarray(image) / 255.0 - mean) / std
    rows, columns = x.shape[0] // 28, x.shape[1] // 28
    # window row, merge row, y, window column, merge column, x, channel
    x = x.reshape(rows, 2, 14, columns, 2, 14, 3).transpose(0, 3, 1, 4, 6, 2, 5)
    x = np.repeat(x[:, :, :, :, :, None], 2, axis=5)
    grid = torch.tensor([[1, 2 * rows, 2 * columns]])
    return torch.tensor(x.reshape(4 * rows * columns, -1), dtype=torch.float32), grid


class Context:
    """A prompt with its image, and forwards of further tokens under explicit masks, without a cache."""

    def __init__(self, model, ids, pixels, grid):
        self.model, self.length = model, ids.shape[1]
        is_image = ids == model.config.image_token_id
        self.positions, delta = model.model.get_rope_index(ids, is_image.long(), image_grid_thw=grid)
        self.delta = int(delta)
        self.features = torch.cat(model.model.get_image_features(pixels, grid).pooler_output)
        embeds = model.model.language_model.embed_tokens(ids)
        self.embeds = embeds.masked_scatter(is_image[..., None], self.features)

    def causal(self, extra):
        n = self.length + extra
        return torch.ones(n, n).tril().bool()

    def logits(self, ids, visible, rows):
        """Logits of the last `rows` rows of prompt + ids; row i sees the keys j where visible[i, j]."""
        decoder = self.model.model.language_model
        x = torch.cat([self.embeds, decoder.embed_tokens(torch.tensor([ids], dtype=torch.long))], dim=1)
        text = torch.arange(self.length, self.length + len(ids)) + self.delta
        positions = torch.cat([self.positions, text.expand(3, 1, -1)], dim=-1)
        mask = torch.zeros(visible.shape, dtype=x.dtype).masked_fill(~visible, torch.finfo(x.dtype).min)[None, None]
        h = decoder(inputs_embeds=x, attention_mask=mask, position_ids=positions, use_cache=False).last_hidden_state
        return self.model.lm_head(h[0, -rows:]).float()

    def draft(self, past, window):
        visible = self.causal(len(past + window))
        visible[self.length + len(past) + 1 :] = True
        return self.logits(past + window, visible, len(window))

    def verify(self, past, window):
        return self.logits(past + window, self.causal(len(past + window)), len(window))

    def greedy(self, count):
        done = []
        while len(done) < count:
            done.append(int(self.logits(done, self.causal(len(done)), 1)[0].argmax()))
        return done


def run(ctx, greedy, forced):
    """All golden logits for given tokens."""
    # The first greedy row is the prompt's last one, hence one row more than tokens go in.
    out = {"greedy_logits": ctx.logits(greedy[:-1], ctx.causal(len(greedy) - 1), len(greedy))}
    for k, state in enumerate(forced):
        out[f"draft_logits_{k}"] = ctx.draft(state["committed"], state["draft_window"])
        past = state["committed"] + state["draft_window"][:1]
        out[f"verify_logits_{k}"] = ctx.verify(past, state["verify_window"])
    return out


@torch.no_grad()
def make_case(out, name, shape, seed):
    gen = torch.Generator().manual_seed(seed)
    *_, dtype, block, (width, height) = shape
    model = make_model(shape, gen)
    mask_id = write_checkpoint(out / name, model, dtype, block)

    folder = out / "cases" / name
    folder.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 256, (height // 7, width // 7, 3), dtype=np.uint8)
    image = Image.fromarray(np.kron(noise, np.ones((7, 7, 1), dtype=np.uint8)))
    image.save(folder / "resized.png")
    pixels, grid = patches(image)
    prompt = PROMPT.format(image="<|image|>" * (int(grid.prod()) // 4))
    ids = torch.tensor([Tokenizer.from_file(str(TINY / "tokenizer.json")).encode(prompt, add_special_tokens=False).ids])

    ctx = Context(model, ids, pixels, grid)
    greedy = ctx.greedy(GREEDY)
    forced = []
    for count in COMMITTED:
        others = torch.randint(0, 560, (block + 1,), generator=gen).tolist()
        forced.append({
            "committed": greedy[:count],
            "draft_window": [greedy[count]] + [mask_id] * block,
            "verify_window": others,
        })
    exact = run(ctx, greedy, forced)
    assert exact["greedy_logits"].argmax(-1).tolist() == greedy
    half = run(Context(cast(model, torch.bfloat16), ids, pixels.bfloat16(), grid), greedy, forced)
    errors = torch.cat([(exact[k] - half[k]).flatten() for k in exact])
    info = {
        "model": name,
        "stored": str(dtype).removeprefix("torch."),
        "block": block,
        "forced": forced,
        "logits_std": float(torch.cat([x.flatten() for x in exact.values()]).std()),
        "bf16_error": float(errors.abs().max()),
        "bf16_rms_error": float(errors.square().mean().sqrt()),
    }
    (folder / "case.json").write_text(json.dumps(info, indent=1))
    tensors = exact | {"pooler_output": ctx.features, "prompt_ids": ids[0], "greedy_ids": torch.tensor(greedy)}
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "tensors.safetensors")
    print(f"{name}: greedy {greedy}, logits' deviation {info['logits_std']:.2f}, bf16 error {info['bf16_error']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=1, help="of weights, pictures and tokens (default 1)")
    args = parser.parse_args()
    for at, (name, shape) in enumerate(SHAPES.items()):
        make_case(args.out, name, shape, 1000 * args.seed + at)


if __name__ == "__main__":
    main()
