#!/usr/bin/env python3
"""A small GPT's loss over 200 steps in Stoker and in PyTorch: same weights, same batches, AdamW with the gradients' global norm clipped.

    bench/sequences/curve.py [--build build/release] [--json FILE]

Runs bench_sequences --curve, then PyTorch in the environment of scripts/peers-setup.sh (STOKER_PEER_PYTHON). Exit status 1: the curves part by more
than float32's rounding explains.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS, WIDTH, HEADS, WORDS, LENGTH, STEPS, BATCH = 4, 128, 4, 64, 64, 200, 8  # as in curve.cpp
EARLY, EARLY_LIMIT, LIMIT = 20, 1e-4, 0.02  # relative differences: of the first steps, and of all


def batch_of(step: int):
    import torch

    ids, following = torch.zeros(BATCH, LENGTH, dtype=torch.long), torch.zeros(BATCH, LENGTH, dtype=torch.long)
    for row in range(BATCH):
        token = (step * 31 + row * 17) % WORDS
        for t in range(LENGTH):
            ids[row, t] = token
            token = (token * 5 + 3 + (t * 7 + row + step) % 4) % WORDS
            following[row, t] = token
    return ids, following


def torch_losses(folder: Path) -> list[float]:
    import torch
    from safetensors.torch import load_file
    from torch.nn import functional

    given = load_file(folder / "weights.safetensors")
    weights = [given[name].clone().requires_grad_() for name in sorted(given)]

    def norm(x, at):
        return functional.layer_norm(x, (WIDTH,), weights[at], weights[at + 1], 1e-5)

    def attention(x, at):
        project = lambda i: torch.einsum("btw,whd->bhtd", x, weights[at + i]) + weights[at + i + 1][None, :, None]  # noqa: E731
        y = functional.scaled_dot_product_attention(project(0), project(2), project(4), is_causal=True)
        return torch.einsum("bhtd,hdw->btw", y, weights[at + 6]) + weights[at + 7]

    def logits_of(ids):
        x = weights[0][ids] + weights[1]
        for block in range(LAYERS):
            at = 2 + 16 * block  # norm 2, attention 8, norm 2, two dense layers 4
            x = x + attention(norm(x, at), at + 2)
            y = functional.gelu(norm(x, at + 10) @ weights[at + 12] + weights[at + 13])
            x = x + y @ weights[at + 14] + weights[at + 15]
        return norm(x, 2 + 16 * LAYERS) @ weights[0].T

    optimizer = torch.optim.AdamW(weights, 1e-3, weight_decay=0.01, eps=1e-8)
    losses = []
    for step in range(STEPS):
        ids, following = batch_of(step)
        loss = functional.cross_entropy(logits_of(ids).view(-1, WORDS), following.view(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def python_of_peers() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    venv = Path(os.environ.get("STOKER_PEERS_VENV", cache / "stoker" / "peers")) / "bin" / "python"
    return os.environ.get("STOKER_PEER_PYTHON") or (str(venv) if venv.exists() else sys.executable)


def compare(ours: list[float], theirs: list[float]) -> dict:
    differences = [abs(a - b) / max(abs(b), 1e-3) for a, b in zip(ours, theirs)]
    return {"date": datetime.date.today().isoformat(), "steps": STEPS, "early_difference": max(differences[:EARLY]),
            "largest_difference": max(differences), "first": [ours[0], theirs[0]], "last": [ours[-1], theirs[-1]],
            "stoker": [round(x, 6) for x in ours], "pytorch": [round(x, 6) for x in theirs]}


def main() -> int:
    if sys.argv[1:2] == ["--torch"]:
        print(json.dumps(torch_losses(Path(sys.argv[2]))))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(options.build / "bin" / "bench_sequences"), "--device", "cpu", "--curve", folder], check=True)
        ours = json.loads((Path(folder) / "stoker.json").read_text())["losses"]
        done = subprocess.run([python_of_peers(), __file__, "--torch", folder], check=True, capture_output=True, text=True)
        theirs = json.loads(done.stdout.strip().splitlines()[-1])
    result = compare(ours, theirs)
    if options.json:
        options.json.write_text(json.dumps(result) + "\n")
    print(f"loss {ours[0]:.4f} -> {ours[-1]:.4f} in Stoker, {theirs[0]:.4f} -> {theirs[-1]:.4f} in PyTorch; largest relative difference "
          f"{result['early_difference']:.2e} in the first {EARLY} steps, {result['largest_difference']:.2e} in all {STEPS}")
    return 0 if result["early_difference"] < EARLY_LIMIT and result["largest_difference"] < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
