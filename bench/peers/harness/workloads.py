"""The workloads by name: which there are, which systems run them, and which of them a run asks for."""

from __future__ import annotations

from typing import Sequence

TITLES = {
    "a": "(a) Input pipelines alone",
    "b": "(b) Training steps alone",
    "c": "(c) Whole fits, from process start",
    "d": "(d) Start, size, build",
}
COLUMNS = {
    "a": ("stoker", "tfdata", "dataloader", "grain"),
    "b": ("stoker", "keras", "torch", "torch_old", "libtorch", "libtorch_old"),
    "c": ("stoker", "keras", "torch", "torch_old"),
    "d": ("stoker", "keras", "torch", "torch_old", "libtorch", "libtorch_old"),
}
MODELS = {
    "cnn64": ("CNN 64/128", (32, 128)),
    "cnn32": ("CNN 32/64", (32, 128)),
    "residual": ("residual CNN 32×32", (32, 128)),
    "mlp": ("MLP 784-512-512-10", (32, 1024)),
}

PIPELINES = {
    "memory": ("28×28 digits from memory: shuffle, map to float, batch 128, prefetch", 128),
    "photos": ("JPEG folder: decode, random-resized-crop 224, flip, batch 32", 32),
    "records": ("TFRecord of digits: read, parse, batch 128", 128),
}
# Everything that can be asked for alone, in the order of the page. A workload of (a) or (c) has several rows.
WORKLOADS = (*(f"a/{name}" for name in PIPELINES),
             *(f"b/{model}/{batch}" for model, (_, batches) in MODELS.items() for batch in batches),
             "c/digits32", "c/digits", "c/digits1024", "c/scenes", "d/start", "d/install", "d/hello")


def is_row(row: str) -> bool:
    """Whether it belongs to a workload that still exists."""
    return any(_within(row, name) for name in WORKLOADS)


def order(row: str) -> int:
    """Where a row stands on the page; rows of one workload stay in the order in which they were measured."""
    return next((place for place, name in enumerate(WORKLOADS) if _within(row, name)), len(WORKLOADS))


def _within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + "/")


class Asked:
    """What a run measures: "b" is a section, "b/cnn64" both batches of a model, "b/cnn64/32" one."""

    def __init__(self, names: Sequence[str] = tuple(TITLES)) -> None:
        self._names = names

    def unknown(self) -> list[str]:
        return [name for name in self._names if not any(_within(workload, name) for workload in WORKLOADS)]

    def __contains__(self, workload: str) -> bool:
        return any(_within(workload, name) for name in self._names)

    def any(self, section: str) -> bool:
        return any(workload in self for workload in WORKLOADS if _within(workload, section))
