"""Section (d): process start, installed size, building a hello-world program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

from . import cpp, sizes
from .bench import MIB, Bench
from .process import WorkerError
from .rows import Cell, Row
from .stats import Summary
from .systems import HERE

START_VARIANTS = {"keras": ("jit_compile=auto", "no XLA")}


def start_size_build(bench: Bench) -> list[Row]:
    rows: list[Row] = []
    for name, measure in (("d/start", _start_row), ("d/install", _size_row), ("d/hello", _hello_row)):
        if name in bench.asked:
            with bench.quiet:
                rows.append(measure(bench))
    return rows


def _start_row(bench: Bench) -> Row:
    row = Row("d/start", "process start to the first finished step (CNN 32/64, batch 32)", "ms", "lower")
    chosen: dict[str, str] = {}
    tried: dict[str, dict[str, float]] = {}
    samples: dict[str, list[float]] = {}

    def once(key: str, variant: str) -> float:
        return 1e3 * bench.spawn(key, "start", variant).lines[0][0]

    for key in bench.columns("d"):
        reason = bench.can(key, "start")
        try:
            if reason:
                raise WorkerError(reason)
            bench.say(f"process start: {bench.systems[key].label}, warm-up")
            tried[key] = {variant: min(once(key, variant), once(key, variant)) for variant in START_VARIANTS.get(key, ("",))}
            chosen[key] = min(tried[key], key=lambda name: tried[key][name])
            samples[key] = []
        except (WorkerError, IndexError) as error:
            row.cells[key] = Cell(missing=str(error))
    bench.say("process start: alternating")
    for _ in range(bench.settings.spawns):
        for key, variant in chosen.items():
            samples[key].append(once(key, variant))
    for key, values in samples.items():
        row.cells[key] = Cell(Summary.of(values), chosen[key], tried[key])
    return row


def _size_row(bench: Bench) -> Row:
    bench.say("install size")
    row = Row("d/install", "installed size, without the system's own libraries and Python", "MiB", "lower")
    for key in bench.columns("d"):
        reason = bench.can(key, "start")
        try:
            if reason:
                raise WorkerError(reason)
            size = sizes.installed(bench.systems[key], bench.build, HERE.parent.parent / "include")
            row.cells[key] = Cell(Summary.of([size / MIB]))
        except (WorkerError, OSError, subprocess.SubprocessError) as error:
            row.cells[key] = Cell(missing=str(error))
    return row


def _hello_row(bench: Bench) -> Row:
    row = Row("d/hello", "building a hello-world program", "s", "lower")
    builds: dict[str, Callable[[Path], float]] = {}
    for key in bench.columns("d"):
        reason = bench.can(key, "start")
        if reason:
            row.cells[key] = Cell(missing=reason)
        elif key == "stoker":
            include = HERE.parent.parent / "include"
            builds[key] = lambda target: cpp.compile_stoker(bench.build, "hello_stoker", target, include)
        elif key.startswith("libtorch"):
            torch = bench.systems["torch" if key == "libtorch" else "torch_old"]
            builds[key] = lambda target, torch=torch: cpp.compile_libtorch(torch, "hello_libtorch", target)
        else:
            row.cells[key] = Cell(missing="Python: nothing to build")
    samples: dict[str, list[float]] = {key: [] for key in builds}
    for number in range(1 if bench.settings.quick else 2):
        bench.say(f"hello world, round {number + 1}")
        for key, build in list(builds.items()):
            try:
                samples[key].append(build(bench.work / f"hello-{key}"))
            except cpp.BuildError as error:
                row.cells[key] = Cell(missing=str(error))
                del builds[key]
    for key in builds:
        row.cells[key] = Cell(Summary.of(samples[key]))
    return row
