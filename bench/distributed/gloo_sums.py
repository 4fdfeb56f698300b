#!/usr/bin/env python3
"""One rank of gloo's all-reduce without a step: gloo_sums.py BYTES,BYTES,… TIMES, with RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT in the environment. Buckets are under way at once, as DDP's are; 2052000,28311552,16394496 are those of
resnet18. Rank 0 prints one JSON object. The sums of Stoker without a step are "sums_ms" of `stoker bench scaling`."""
import json
import statistics
import sys
import time

import torch
import torch.distributed as dist


def main():
    buckets = [torch.zeros(int(size) // 4) for size in sys.argv[1].split(",")]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ms, cpu_ms = [], []
    for _ in range(int(sys.argv[2])):
        dist.barrier()
        begin, cpu_begin = time.perf_counter(), time.process_time()
        for work in [dist.all_reduce(bucket, async_op=True) for bucket in buckets]:
            work.wait()
        ms.append(1e3 * (time.perf_counter() - begin))
        cpu_ms.append(1e3 * (time.process_time() - cpu_begin))
    if dist.get_rank() == 0:
        print(json.dumps({"sums_ms": statistics.median(ms), "sums_cpu_ms": statistics.median(cpu_ms), "all_ms": ms}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
