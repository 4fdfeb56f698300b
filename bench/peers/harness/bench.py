"""One run of the comparison: what every section asks for its systems, workers and logs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, Mapping

from .process import Spawn, Worker, WorkerError
from .quiet import Quiet
from .rows import Cell, Settings
from .systems import System
from .workloads import COLUMNS, Asked

MIB = 1 << 20
NOT_YET = "not in this version"


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
