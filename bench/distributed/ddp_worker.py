#!/usr/bin/env python3
"""One rank of PyTorch DDP on gloo: ddp_worker.py MODEL BATCH SIZE STEPS THREADS, with RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT in the environment. BATCH is the global one. Rank 0 prints one JSON object."""
import json
import os
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torchvision

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "zoo"))
import peer  # noqa: E402: the networks of bench_zoo


def main():
    name, batch, size, steps, threads = sys.argv[1], *map(int, sys.argv[2:6])
    torch.set_num_threads(threads)
    dist.init_process_group("gloo")
    ranks = dist.get_world_size()
    torch.manual_seed(1)
    model = torchvision.models.resnet18() if name == "resnet18" else peer.mobilenet_v1()
    model = model.to(memory_format=torch.channels_last)
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.rand(batch // ranks, 3, size, size).to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (batch // ranks,))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(3):
        step()
    ms, cpu_ms = [], []
    for _ in range(steps):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        step()
        ms.append(1e3 * (time.perf_counter() - begin))
        cpu_ms.append(1e3 * (time.process_time() - cpu_begin))
    if dist.get_rank() == 0:
        parameters = sum(p.numel() for p in model.parameters())
        print(json.dumps({"ms_per_step": statistics.median(ms), "cpu_ms_per_step": statistics.median(cpu_ms),
                          "parameters": parameters, "torch": torch.__version__}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
