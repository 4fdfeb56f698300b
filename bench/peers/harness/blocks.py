"""Live workers that take turns. Before anything is counted each builds every form it has of the work, warms it up and is
timed once; the fastest form stays and is measured in rounds of alternating blocks, in an order that rotates."""

from __future__ import annotations

from typing import Any, Mapping

from .process import MemoryWatch, Worker, WorkerError
from .rows import Cell, Settings
from .stats import Summary, block_size


class Contender:
    """One system's worker on one workload."""

    def __init__(self, worker: Worker, workload: Mapping[str, Any], settings: Settings, least: int = 2) -> None:
        self.worker = worker
        self.settings = settings
        self.facts = worker.ask({"op": "load", "workload": dict(workload)})
        self.seconds: dict[str, float] = {}  # one unit, by variant, in the warm-up
        self.failures: dict[str, str] = {}
        for variant in self.facts["variants"]:
            try:
                self.seconds[variant] = self._calibrate(variant)
            except WorkerError as error:
                self.failures[variant] = str(error)
        if not self.seconds:
            raise WorkerError(next(iter(self.failures.values())))
        self.variant = min(self.seconds, key=lambda name: self.seconds[name])
        worker.ask({"op": "keep", "variant": self.variant})
        self.n = block_size(self.seconds[self.variant], settings.block, least)
        self.samples: list[float] = []

    def run(self, variant: str, n: int) -> float:
        return float(self.worker.ask({"op": "run", "variant": variant, "n": n})["seconds"]) / n

    def _calibrate(self, variant: str) -> float:
        """Builds, traces and warms the form up, then doubles n until a run is long enough: batches that a pipeline has
        prefetched would make a single short run look fast."""
        self.run(variant, 2)
        n = 2
        while True:
            seconds = self.run(variant, n)
            if seconds * n >= self.settings.calibration or n >= 4096:
                return seconds
            n *= 2

    def turn(self) -> None:
        self.samples.append(self.run(self.variant, self.n))

    def first_batch(self) -> float:
        return float(self.worker.ask({"op": "first", "variant": self.variant})["seconds"])

    def peak_memory(self) -> int:
        with MemoryWatch(self.worker.group) as watch:
            self.run(self.variant, self.n)
        return watch.peak


def contenders(workers: Mapping[str, Worker], workload: Mapping[str, Any], settings: Settings, least: int = 2
               ) -> tuple[dict[str, Contender], dict[str, str]]:
    """Those that can do the workload, and the reasons of those that cannot. A block has at least `least` units."""
    ready: dict[str, Contender] = {}
    missing: dict[str, str] = {}
    for key, worker in workers.items():
        try:
            ready[key] = Contender(worker, workload, settings, least)
        except WorkerError as error:
            missing[key] = str(error)
    check_same_work(ready)
    return ready, missing


def check_same_work(ready: Mapping[str, Contender]) -> None:
    counts = {key: contender.facts["parameters"] for key, contender in ready.items() if "parameters" in contender.facts}
    if len(set(counts.values())) > 1:
        raise RuntimeError(f"the systems do not train the same model; trainable parameters: {counts}")


def take_turns(ready: Mapping[str, Contender], rounds: int) -> None:
    keys = list(ready)
    for number in range(rounds):
        shift = number % max(1, len(keys))
        for key in keys[shift:] + keys[:shift]:
            ready[key].turn()


def cell(contender: Contender, scale: float, rate: bool) -> Cell:
    """Seconds a unit become `scale` times as much, or with `rate` `scale` divided by them."""
    def convert(seconds: float) -> float:
        return scale / seconds if rate else scale * seconds

    return Cell(Summary.of(convert(value) for value in contender.samples), contender.variant,
                {name: convert(value) for name, value in contender.seconds.items()})
