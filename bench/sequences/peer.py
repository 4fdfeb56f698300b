#!/usr/bin/env python3
"""The steps of bench_sequences in PyTorch (eager, and as a CUDA graph on a GPU) and, on a CPU, in Keras.

    peer.py cpu|cuda [TEXT]
    peer.py --serve ROW PyTorch|Keras      steps of one row on request, for bench/zoo/turns.py

TEXT: only rows whose name contains it. Prints one JSON object per line: {"row", "peer", "ms"}. A framework that is not there is left out.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / room) for room in ("common", "zoo")]
from serving import serve  # noqa: E402
from torch_graph import captured, median_seconds  # noqa: E402

BATCH, LENGTH, WORDS, WIDTH, UNITS = 64, 200, 20000, 256, 512
ROWS = (("LSTM", False), ("LSTM", True), ("GRU", False))


ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
SERVES = sys.argv[1:2] == ["--serve"]
# batch, heads, length, dim, kind
ATTENTION = (
    (4, 16, 4096, 128, "causal"),
    (4, 16, 4096, 128, ""),
    (4, 16, 4096, 64, "causal"),
    (4, 16, 4096, 64, ""),
    (16, 12, 1024, 64, "causal"),
    (16, 12, 1024, 64, "masked"),
    (16, 12, 1024, 64, "dropout"),
    (16, 12, 1024, 64, "masked dropout"),
)


def wanted(row: str) -> bool:
    return row == ONLY if SERVES else ONLY in row


def row_name(kind: str, both: bool) -> str:
    return f"{'Bi' if both else ''}{kind} 2x{UNITS} b{BATCH} T{LENGTH}"


def median_ms(step, warm_up: int, rounds: int, steps: int, wait) -> float:
    if SERVES:
        serve(step, wait)
        sys.exit(0)
    return median_seconds(step, warm_up, rounds, steps, wait) * 1e3


def report_row(row: str, peer: str, ms: float) -> None:
    print(json.dumps({"row": row, "peer": peer, "ms": round(ms, 4)}), flush=True)


def report(kind: str, both: bool, peer: str, ms: float) -> None:
    report_row(row_name(kind, both), peer, ms)


def run_torch(device: str) -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    gpu = device == "cuda"
    if not gpu:
        torch.set_num_threads(len(os.sched_getaffinity(0)))

    class Network(nn.Module):
        def __init__(self, kind: str, both: bool) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, WIDTH)
            self.layers = getattr(nn, kind)(WIDTH, UNITS, 2, batch_first=True, bidirectional=both)
            self.head = nn.Linear(UNITS * (1 + both), 2)

        def forward(self, ids):
            return self.head(self.layers(self.words(ids))[0][:, -1])

    for kind, both in ROWS:
        if not wanted(row_name(kind, both)):
            continue
        model = Network(kind, both).to(device)
        ids = torch.randint(WORDS, (BATCH, LENGTH), device=device)
        labels = torch.randint(2, (BATCH,), device=device)
        options = {"fused": True, "capturable": True} if gpu else {}
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3, **options)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=gpu):
                loss = functional.cross_entropy(model(ids).float(), labels)
            loss.backward()
            optimizer.step()

        if not gpu:
            report(kind, both, "PyTorch", median_ms(step, 1, 3, 1, lambda: None))
            continue
        report(kind, both, "PyTorch eager", median_ms(step, 4, 5, 10, torch.cuda.synchronize))
        replay = captured(torch, step, optimizer)
        report(kind, both, "PyTorch graph", median_ms(replay, 4, 5, 10, torch.cuda.synchronize))


def run_gpt2() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    row, batch, length, words, width, heads = "GPT-2 124M b16 T1024", 16, 1024, 50304, 768, 12
    if ONLY not in row:
        return

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.mixed = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            rows = (x.shape[0], x.shape[1], 3, heads, width // heads)
            q, k, v = self.qkv(self.first(x)).view(rows).permute(2, 0, 3, 1, 4)
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.mixed(attended.transpose(1, 2).reshape(x.shape))
            return x + self.narrow(functional.gelu(self.wide(self.second(x)), approximate="tanh"))

    class Gpt2(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks, self.last = nn.Sequential(*(Block() for _ in range(12))), nn.LayerNorm(width)
            for weights in (self.words, self.places):
                nn.init.normal_(weights.weight, std=0.02)

        def forward(self, ids):
            x = self.words(ids) + self.places.weight
            return functional.linear(self.last(self.blocks(x)), self.words.weight)

    torch.backends.cuda.matmul.allow_tf32 = True
    ids = torch.randint(words, (batch, length), device="cuda")
    labels = ids.roll(-1, 1)
    for peer in ("PyTorch eager", "PyTorch compile"):
        model = Gpt2().cuda()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)

        def loss_of(ids, labels):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return functional.cross_entropy(model(ids).view(-1, words).float(), labels.view(-1))

        compute = torch.compile(loss_of) if peer == "PyTorch compile" else loss_of

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            compute(ids, labels).backward()
            optimizer.step()

        report_row(row, peer, median_ms(step, 4, 5, 10, torch.cuda.synchronize))
        del model, optimizer
        torch.cuda.empty_cache()


def run_attention() -> None:
    import torch
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for batch, heads, length, dim, kind in ATTENTION:
        row = f"attention b{batch} h{heads} T{length} d{dim} {kind}".rstrip()
        if ONLY not in row:
            continue
        shape = (batch, length, heads, dim)
        q, k, v, dout = (torch.rand(shape, device="cuda").mul(2).sub(1).bfloat16().transpose(1, 2) for _ in range(4))
        for operand in (q, k, v):
            operand.requires_grad_()
        mask = torch.ones((batch, 1, 1, length), dtype=torch.bool, device="cuda") if "masked" in kind else None
        causal, rate = kind == "causal", 0.1 if "dropout" in kind else 0.0
        backends = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
        if mask is not None:
            backends = {"efficient": SDPBackend.EFFICIENT_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}
        for name, backend in backends.items():
            with sdpa_kernel(backend):
                forward = lambda: functional.scaled_dot_product_attention(q, k, v, mask, rate, causal)  # noqa: E731
                out = forward()
                backward = lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)  # noqa: E731
                peer = "PyTorch " + name
                report_row(row + " forward", peer, median_ms(forward, 4, 5, 10, torch.cuda.synchronize))
                ms = median_ms(backward, 4, 5, 10, torch.cuda.synchronize)
                report_row(row + " gradient", peer, ms)
                report_row(row + " gradient, any order", peer, ms)


def run_keras() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    import keras
    import numpy as np

    for kind, both in ROWS:
        if not wanted(row_name(kind, both)):
            continue
        wrap = keras.layers.Bidirectional if both else (lambda layer: layer)
        layer = getattr(keras.layers, kind)
        model = keras.Sequential(
            [
                keras.layers.Embedding(WORDS, WIDTH),
                wrap(layer(UNITS, return_sequences=True)),
                wrap(layer(UNITS)),
                keras.layers.Dense(2),
            ]
        )
        model.compile(
            keras.optimizers.AdamW(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False
        )
        ids = np.random.randint(0, WORDS, (BATCH, LENGTH))
        labels = np.random.randint(0, 2, (BATCH,))
        step = lambda: model.train_on_batch(ids, labels)  # noqa: E731
        report(kind, both, "Keras", median_ms(step, 1, 3, 1, lambda: None))


def main() -> None:
    if SERVES:
        return run_torch("cpu") if sys.argv[3] == "PyTorch" else run_keras()
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    for run in (lambda: run_torch(device),) + ((run_keras,) if device == "cpu" else (run_gpt2, run_attention)):
        try:
            run()
        except ImportError as error:
            print(f"peer.py: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
