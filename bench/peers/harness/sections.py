"""What is measured: (a) pipelines, (b) steps, (c) whole fits, and the limits of the machine. (d) is start_size_build.py."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Mapping

from . import cpp, flops
from .bench import MIB, NOT_YET, Bench, missing_cells
from .blocks import cell, contenders, take_turns
from .process import Spawn, Worker, WorkerError
from .rows import Cell, Row
from .stats import Summary
from .workloads import MODELS, PIPELINES

# --- (a) ----------------------------------------------------------------------------------------

def pipelines(bench: Bench) -> list[Row]:
    workers, absent = bench.start("a", "pipeline")
    rows: list[Row] = []
    try:
        for name, (title, batch) in PIPELINES.items():
            if f"a/{name}" in bench.asked:
                with bench.quiet:
                    bench.say(title)
                    rows += _pipeline_rows(bench, workers, absent, name, title, batch)
    finally:
        for worker in workers.values():
            worker.end()
    return rows


def _pipeline_rows(bench: Bench, workers: Mapping[str, Worker], absent: Mapping[str, str], name: str, title: str, batch: int
                   ) -> list[Row]:
    workload = {"pipeline": name, "batch": batch, "size": 224, "shuffle": 10_000, "mnist": str(bench.data / "mnist"),
                "photos": str(bench.data / "photos"), "tfrecord": str(bench.data / "mnist.tfrecord")}
    # Long blocks: what was prefetched between two turns must not count.
    ready, reasons = contenders(workers, workload, bench.settings, least=24)
    take_turns(ready, bench.settings.rounds)
    empty = missing_cells({**absent, **reasons})
    rate = Row(f"a/{name}", title, "samples/s", "higher",
               {key: cell(contender, batch, rate=True) for key, contender in ready.items()} | empty)
    first = Row(f"a/{name}/first", "  time to the first batch", "ms", "lower", dict(empty))
    peak = Row(f"a/{name}/memory", "  peak memory of the process", "MiB", "lower", dict(empty))
    for key, contender in ready.items():
        repeats = max(3, bench.settings.rounds // 2)
        first.cells[key] = Cell(Summary.of(1e3 * contender.first_batch() for _ in range(repeats)), contender.variant)
        peak.cells[key] = Cell(Summary.of([contender.peak_memory() / MIB]), contender.variant)
    return [rate, first, peak]


# --- (b) ----------------------------------------------------------------------------------------

def steps(bench: Bench, peak_gflops: float | None) -> list[Row]:
    workers, absent = bench.start("b", "step")
    rows: list[Row] = []
    try:
        for model, (title, batches) in MODELS.items():
            for batch in batches:
                if f"b/{model}/{batch}" not in bench.asked:
                    continue
                with bench.quiet:
                    bench.say(f"{title}, batch {batch}")
                    workload = {"model": model, "batch": batch, "quick": bench.settings.quick}
                    ready, reasons = contenders(workers, workload, bench.settings)
                    take_turns(ready, bench.settings.rounds)
                cells = {key: cell(contender, 1e3, rate=False) for key, contender in ready.items()}
                limit = flops.training_step(model, batch) / peak_gflops / 1e6 if peak_gflops else None
                rows.append(Row(f"b/{model}/{batch}", f"{title}, batch {batch}", "ms/step", "lower",
                                cells | missing_cells({**absent, **reasons}), limit))
    finally:
        for worker in workers.values():
            worker.end()
    return rows


# --- (c) ----------------------------------------------------------------------------------------

FIT_VARIANTS = {
    "stoker": ("fit",),
    "keras": ("jit_compile=auto", "no XLA"),
    "torch": ("slices", "slices, channels_last", "DataLoader"),
    "torch_old": ("slices", "slices, channels_last", "DataLoader"),
}


def fits(bench: Bench) -> list[Row]:
    quick = bench.settings.quick
    digits = {"data": "digits", "folder": str(bench.data / "mnist"),
              "samples": 10_000 if quick else None, "epochs": 2 if quick else 3}
    scenes = {"data": "scenes", "folder": str(bench.data / "scenes"), "samples": None, "epochs": 2 if quick else 10}
    jobs = {f"digits{suffix}": (f"digits, CNN 32/64, batch {batch}", dict(digits, batch=batch))
            for suffix, batch in (("32", 32), ("", 128), ("1024", 1024))}
    jobs["scenes"] = ("JPEG folder, small CNN 96×96, batch 32", dict(scenes, batch=32))
    rows: list[Row] = []
    for name, (title, job) in jobs.items():
        if f"c/{name}" in bench.asked:
            rows += _fit_rows(bench, name, title, job)
    return rows


def _fit_rows(bench: Bench, name: str, title: str, job: dict[str, Any]) -> list[Row]:
    data = job["data"]
    rate = Row(f"c/{name}/rate", title, "samples/s", "higher")
    wall = Row(f"c/{name}/wall", f"  process start to end, {job['epochs']} epochs and test", "s", "lower")
    share = Row(f"c/{name}/cpu", "  CPU share of all cores", "%", "none")
    peak = Row(f"c/{name}/memory", "  peak memory", "MiB", "lower")
    accuracy = Row(f"c/{name}/accuracy", "  accuracy on the test set", "%", "none")
    rows = [rate, wall, share, peak, accuracy]
    chosen: dict[str, str] = {}
    runs: dict[str, list[Spawn]] = {}
    tried: dict[str, dict[str, float]] = {}
    for key in bench.columns("c"):
        reason = bench.can(key, "fit") or _fit_reason(bench, key, data)
        try:
            if reason:
                raise WorkerError(reason)
            bench.say(f"{title}: {bench.systems[key].label}, warm-up")
            short = dict(job, epochs=2, samples=10_000)
            with bench.quiet:
                tried[key] = {variant: _steady_rate(bench.spawn(key, "fit", json.dumps(dict(short, variant=variant))))
                              for variant in _fit_variants(key, data)}
            chosen[key] = max(tried[key], key=lambda name: tried[key][name])
            runs[key] = []
        except WorkerError as error:
            for row in rows:
                row.cells[key] = Cell(missing=str(error))
    for number in range(1 if bench.settings.quick else 2):
        with bench.quiet:
            for key, variant in chosen.items():
                bench.say(f"{title}: {bench.systems[key].label}, round {number + 1}")
                runs[key].append(bench.spawn(key, "fit", json.dumps(dict(job, variant=variant))))
    for key, spawns in runs.items():
        rate.cells[key] = Cell(Summary.of(_steady_rate(run) for run in spawns), chosen[key], tried[key])
        wall.cells[key] = Cell(Summary.of(run.wall for run in spawns))
        share.cells[key] = Cell(Summary.of(100 * run.cpu / run.wall / bench.settings.threads for run in spawns))
        # In a run of its own: looking at the pages of a process slows down those that ask for memory in every step by a third.
        watched = bench.spawn(key, "fit", json.dumps(dict(job, epochs=1, variant=chosen[key])), watch_memory=True)
        peak.cells[key] = Cell(Summary.of([watched.peak / MIB]))
        accuracy.cells[key] = Cell(Summary.of(100 * run.result()["accuracy"] for run in spawns))
    return rows


def _fit_variants(key: str, data: str) -> tuple[str, ...]:
    """PyTorch reads a folder through its DataLoader in any case."""
    return FIT_VARIANTS[key] if data == "digits" or key == "keras" else FIT_VARIANTS[key][:1]


def _fit_reason(bench: Bench, key: str, data: str) -> str:
    if key == "stoker" and data not in bench.systems[key].details.get("fits", ()):
        return NOT_YET
    return ""


def _steady_rate(run: Spawn) -> float:
    """Samples a second once everything is compiled and warm: all epochs but the first."""
    result = run.result()
    later = result["epochs"][1:]
    return result["samples"] * len(later) / sum(later)


# --- limits -------------------------------------------------------------------------------------

def limits(bench: Bench) -> dict[str, Any]:
    """What the machine allows: memcpy, the best matrix product of any system, the JPEG decoder alone."""
    found: dict[str, Any] = {}
    try:
        program = cpp.build_limits(bench.work)
        done = subprocess.run([str(program), str(bench.settings.threads), str(bench.data / "photos")], capture_output=True,
                              text=True, check=True)
        found.update(json.loads(done.stdout))
    except (cpp.BuildError, subprocess.CalledProcessError) as error:
        found["missing"] = str(error)
    peaks: dict[str, float] = {}
    for key in ("stoker", "torch", "torch_old"):
        if key in bench.systems and not bench.can(key, "start"):
            try:
                peaks[key] = float(bench.spawn(key, "matmul").result()["gflop_s"])
            except WorkerError as error:
                bench.say(f"matmul peak of {bench.systems[key].label}: {error}")
    found["matmul_gflop_s"] = peaks
    return found


def clear_work(work: Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    for log in work.glob("*.log"):
        log.unlink()


