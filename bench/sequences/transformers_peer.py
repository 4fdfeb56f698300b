#!/usr/bin/env python3
"""The Transformer rows of bench_sequences on a CPU, in PyTorch and, for training steps, in Keras.

    transformers_peer.py ROW
    transformers_peer.py --serve ROW PyTorch|Keras      one row on request, for bench/zoo/turns.py

Prints one JSON object per line: {"row", "peer", "ms"}. A framework that is not there is left out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "zoo"))
from serving import serve  # noqa: E402

GPTS = {"generate 200, GPT 4x256 V256": (4, 256, 8, 256, 256), "generate 200, GPT 6x384 V8192": (6, 384, 6, 8192, 1024),
        "generate 200, GPT-2 124M": (12, 768, 12, 50257, 1024)}


def median_ms(step, rounds: int = 5) -> float:
    if sys.argv[1] == "--serve":
        serve(step)
        sys.exit(0)
    step()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2] * 1e3


def report(row: str, peer: str, ms: float) -> None:
    print(json.dumps({"row": row, "peer": peer, "ms": round(ms, 3)}), flush=True)


def run_torch(row: str) -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(len(os.sched_getaffinity(0)))

    class Block(nn.Module):
        def __init__(self, width: int, heads: int, causal: bool) -> None:
            super().__init__()
            self.heads, self.causal = heads, causal
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, cache=None, position=0):
            batch, steps, width = x.shape
            q, k, v = (part.view(batch, steps, self.heads, -1).transpose(1, 2)
                       for part in self.qkv(self.ln_1(x)).split(width, -1))
            causal = self.causal and steps > 1
            if cache is not None:
                cache[0][:, :, position:position + steps] = k
                cache[1][:, :, position:position + steps] = v
                k, v = cache[0][:, :, :position + steps], cache[1][:, :, :position + steps]
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            x = x + self.project(y.transpose(1, 2).reshape(batch, steps, width))
            return x + self.down(functional.gelu(self.up(self.ln_2(x))))

    class Blocks(nn.Module):
        def __init__(self, count: int, width: int, heads: int, causal: bool) -> None:
            super().__init__()
            self.list = nn.ModuleList(Block(width, heads, causal) for _ in range(count))
            self.norm = nn.LayerNorm(width)

        def forward(self, x, caches=None, position=0):
            for i, block in enumerate(self.list):
                x = block(x, caches[i] if caches else None, position)
            return self.norm(x)

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(8192, 256), nn.Embedding(128, 256)
            self.blocks, self.head = Blocks(4, 256, 8, False), nn.Linear(256, 2)

        def forward(self, ids):
            x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
            return self.head(self.blocks(x).mean(1))

    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches, self.places = nn.Conv2d(3, 384, 16, 16), nn.Parameter(torch.zeros(196, 384))
            self.blocks, self.head = Blocks(12, 384, 6, False), nn.Linear(384, 1000)

        def forward(self, image):
            x = self.patches(image).flatten(2).transpose(1, 2) + self.places
            return self.head(self.blocks(x).mean(1))

    def train(model, x, y) -> float:
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()

        return median_ms(step)

    def generate(layers: int, width: int, heads: int, vocabulary: int, length: int) -> float:
        tokens, places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        model = Blocks(layers, width, heads, True)
        prompt = torch.arange(16)[None] * 7 % vocabulary

        def loop() -> None:
            with torch.inference_mode():
                caches = [[torch.zeros(1, heads, length, width // heads) for _ in range(2)] for _ in range(layers)]
                ids, position = prompt, 0
                for _ in range(200):
                    x = tokens(ids) + places.weight[position:position + ids.shape[1]]
                    x = model(x, caches, position)
                    position += ids.shape[1]
                    ids = (x[:, -1] @ tokens.weight.T).argmax(-1, keepdim=True)

        return median_ms(loop)

    if row in GPTS:
        report(row, "PyTorch", generate(*GPTS[row]))
    elif row.startswith("ViT"):
        report(row, "PyTorch", train(ViT(), torch.full((4, 3, 224, 224), 0.5), torch.randint(1000, (4,))))
    else:
        report(row, "PyTorch", train(Encoder(), torch.randint(8192, (16, 128)), torch.randint(2, (16,))))


def run_keras(row: str) -> None:
    if row in GPTS:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    import keras
    import numpy as np
    from keras import layers

    class Positions(layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=shape[1:])

        def call(self, x):
            return x + self.table

    def blocks(x, count: int, width: int, heads: int):
        for _ in range(count):
            y = layers.LayerNormalization(epsilon=1e-5)(x)
            x = x + layers.MultiHeadAttention(heads, width // heads)(y, y)
            y = layers.LayerNormalization(epsilon=1e-5)(x)
            x = x + layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(y))
        return layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-5)(x))

    if row.startswith("ViT"):
        inputs = keras.Input((224, 224, 3))
        x = layers.Reshape((196, 384))(layers.Conv2D(384, 16, 16)(inputs))
        outputs = layers.Dense(1000)(blocks(Positions()(x), 12, 384, 6))
        data = np.full((4, 224, 224, 3), 0.5, "float32"), np.random.randint(0, 1000, 4)
    else:
        inputs = keras.Input((128,), dtype="int32")
        x = Positions()(layers.Embedding(8192, 256)(inputs))
        outputs = layers.Dense(2)(blocks(x, 4, 256, 8))
        data = np.random.randint(0, 8192, (16, 128)), np.random.randint(0, 2, 16)
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.AdamW(1e-4), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    report(row, "Keras", median_ms(lambda: model.train_on_batch(*data)))


def main() -> None:
    if sys.argv[1] == "--serve":
        return (run_torch if sys.argv[3] == "PyTorch" else run_keras)(sys.argv[2])
    for run in (run_torch, run_keras):
        try:
            run(sys.argv[1])
        except ImportError as error:
            print(f"transformers_peer.py: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
