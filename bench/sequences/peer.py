#!/usr/bin/env python3
"""The steps of bench_sequences in PyTorch (eager, and as a CUDA graph on a GPU) and, on a CPU, in Keras.

    peer.py cpu|cuda

Prints one JSON object per line: {"row", "peer", "ms"}. A framework that is not there is left out.
"""

from __future__ import annotations

import json
import os
import sys
import time

BATCH, LENGTH, WORDS, WIDTH, UNITS = 64, 200, 20000, 256, 512
ROWS = (("LSTM", False), ("LSTM", True), ("GRU", False))


def row_name(kind: str, both: bool) -> str:
    return f"{'Bi' if both else ''}{kind} 2x{UNITS} b{BATCH} T{LENGTH}"


def median_ms(step, warm_up: int, rounds: int, steps: int, wait) -> float:
    for _ in range(warm_up):
        step()
    wait()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        times.append((time.perf_counter() - begin) / steps)
    return sorted(times)[len(times) // 2] * 1e3


def report(kind: str, both: bool, peer: str, ms: float) -> None:
    print(json.dumps({"row": row_name(kind, both), "peer": peer, "ms": round(ms, 3)}), flush=True)


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
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            step()
        report(kind, both, "PyTorch graph", median_ms(graph.replay, 4, 5, 10, torch.cuda.synchronize))


def run_keras() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    import keras
    import numpy as np

    for kind, both in ROWS:
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
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    for run in (lambda: run_torch(device),) + ((run_keras,) if device == "cpu" else ()):
        try:
            run()
        except ImportError as error:
            print(f"peer.py: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
