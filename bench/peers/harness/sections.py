"""The workloads: (a) pipelines, (b) steps, (c) whole fits, (d) start, size and build."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from . import cpp, flops
from .blocks import cell, contenders, take_turns
from .process import Spawn, Worker, WorkerError
from .quiet import Quiet
from .rows import Cell, Row, Settings
from .stats import Summary
from .systems import HERE, System

MIB = 1 << 20
NOT_YET = "not in this version"

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


class Bench:
    """One run: the systems, the data, the settings, where logs go, what is asked for, and the lock that keeps others away."""

    def __init__(self, systems: Mapping[str, System], settings: Settings, data: Path, work: Path, build: Path,
                 say: Callable[[str], None], asked: Asked | None = None, quiet: Quiet | None = None) -> None:
        self.systems, self.settings, self.data, self.work, self.build, self.say = systems, settings, data, work, build, say
        self.asked, self.quiet = asked or Asked(), quiet or Quiet()

    def environment(self) -> dict[str, str]:
        """The same number of threads for everybody, however a library asks for it."""
        count = str(self.settings.threads)
        return dict(os.environ, STOKER_PEERS_THREADS=count, OMP_NUM_THREADS=count, MKL_NUM_THREADS=count,
                    OPENBLAS_NUM_THREADS=count, TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="tensorflow",
                    PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore")

    def log(self, name: str) -> Path:
        return self.work / f"{name}.log"

    def can(self, key: str, kind: str) -> str:
        """Empty when the system is here and has such a worker; otherwise the reason."""
        system = self.systems[key]
        if not system.present:
            return system.missing
        if key == "stoker" and kind not in system.details.get("workers", ()):
            return NOT_YET
        return ""

    def columns(self, section: str) -> list[str]:
        """The section's systems; a second PyTorch has a column only where there is one."""
        return [key for key in COLUMNS[section] if key in self.systems]

    def start(self, section: str, kind: str) -> tuple[dict[str, Worker], dict[str, str]]:
        workers: dict[str, Worker] = {}
        missing: dict[str, str] = {}
        for key in self.columns(section):
            reason = self.can(key, kind)
            if reason:
                missing[key] = reason
            else:
                self.log(f"{key}-{kind}").write_bytes(b"")
                worker = Worker(self.systems[key].worker(kind), self.environment(), self.log(f"{key}-{kind}"))
                try:
                    worker.ask({"op": "keep", "variant": ""})  # it has imported everything and is stopped from here on
                    workers[key] = worker
                except WorkerError as error:
                    missing[key] = str(error)
        return workers, missing

    def spawn(self, key: str, kind: str, *arguments: str, watch_memory: bool = False) -> Spawn:
        log = self.log(f"{key}-{kind}")
        log.write_bytes(b"")
        return Spawn(self.systems[key].worker(kind, *arguments), self.environment(), log, watch_memory=watch_memory)


def missing_cells(reasons: Mapping[str, str]) -> dict[str, Cell]:
    return {key: Cell(missing=reason) for key, reason in reasons.items()}


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


# --- (d) ----------------------------------------------------------------------------------------

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
    from . import sizes

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


