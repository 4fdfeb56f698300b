"""The synthetic samples of the step workloads: the same in every Python worker, drawn from one seed."""

from __future__ import annotations

import numpy as np

COUNT = 4096  # enough that a run does not learn them by heart


def batches(shape: tuple[int, ...], batch: int) -> tuple[np.ndarray, np.ndarray]:
    """x: [number, batch, ...shape] float32 in [0, 1); y: [number, batch] int32 of ten classes."""
    number = max(2, COUNT // batch)
    random = np.random.default_rng(7)
    x = random.random((number, batch, *shape), dtype=np.float32)
    y = random.integers(0, 10, (number, batch), dtype=np.int32)
    return x, y
