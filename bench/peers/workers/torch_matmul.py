"""The machine's matmul peak as PyTorch reaches it: 1024 cubed in float32, the best of many."""

from __future__ import annotations

import time

import torch

from torch_models import set_threads

device = set_threads()
a, b = torch.rand(1024, 1024, device=device), torch.rand(1024, 1024, device=device)
best = 0.0
for _ in range(40):
    begin = time.perf_counter()
    float((a @ b)[0, 0])
    best = max(best, 2 * 1024**3 / (time.perf_counter() - begin) / 1e9)
print('{"gflop_s": %f}' % best, flush=True)
