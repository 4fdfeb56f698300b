"""The worker's side of the line protocol: requests as JSON lines on stdin, one answer a line on the real stdout. Whatever
a library prints goes to stderr.

    {"op": "load", "workload": {...}}          -> {"variants": [...], ...facts of the workload}
    {"op": "run", "variant": "...", "n": 10}   -> {"seconds": 1.23, "cpu": 2.31, ...}
    {"op": "keep", "variant": "..."}           -> {}          the others are dropped
    {"op": "first", "variant": "..."}          -> {"seconds": 0.12}    pipelines: build anew, up to the first batch
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, Protocol


class Block(Protocol):
    """A variant that has been built: runs n units (steps, batches) and waits until they are finished."""

    def __call__(self, n: int) -> Mapping[str, Any] | None: ...


@dataclass
class Loaded:
    """A workload in one system: ways to do it, each built when it is first run."""

    variants: dict[str, Callable[[], Block]]
    facts: dict[str, Any] = field(default_factory=dict)


def consume(data: Iterable[Any]) -> Block:
    """Pulls batches from one iterator that goes on from block to block."""
    iterator = iter(data)

    def run(n: int) -> dict[str, Any]:
        shape: Any = None
        for _ in range(n):
            shape = next(iterator)[0].shape
        return {"shape": list(shape)}

    return run


def cpu_seconds() -> float:
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


def private_stdout() -> Any:
    """The real stdout for answers alone; file descriptor 1 becomes stderr, also for C++ libraries."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


def threads() -> int:
    return int(os.environ["STOKER_PEERS_THREADS"])


class Session:
    def __init__(self, load: Callable[[dict[str, Any]], Loaded]) -> None:
        self._load = load
        self._loaded = Loaded({})
        self._built: dict[str, Block] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        operations = {"load": self.load, "run": self.run, "keep": self.keep, "first": self.first}
        return operations[request.pop("op")](**request)

    def load(self, workload: dict[str, Any]) -> dict[str, Any]:
        self._built.clear()
        self._loaded = self._load(workload)
        return {"variants": list(self._loaded.variants), **self._loaded.facts}

    def run(self, variant: str, n: int) -> dict[str, Any]:
        block = self._block(variant)
        cpu, begin = cpu_seconds(), time.perf_counter()
        extra = block(n)
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "cpu": cpu_seconds() - cpu, "n": n, **(extra or {})}

    def _block(self, variant: str) -> Block:
        if variant not in self._built:
            self._built[variant] = self._loaded.variants[variant]()
        return self._built[variant]

    def keep(self, variant: str) -> dict[str, Any]:
        self._built = {name: block for name, block in self._built.items() if name == variant}
        return {}

    def first(self, variant: str) -> dict[str, Any]:
        self._built.pop(variant, None)
        begin = time.perf_counter()
        self._block(variant)(1)
        return {"seconds": time.perf_counter() - begin}


def serve(load: Callable[[dict[str, Any]], Loaded]) -> None:
    answers = private_stdout()
    session = Session(load)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = session.answer(request)
        except Exception as error:  # noqa: BLE001: every failure becomes a cell of the table
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()
