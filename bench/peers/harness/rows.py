"""What the run produces: rows of cells, and the settings that they were measured with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .stats import Summary


@dataclass
class Cell:
    """One system's figure in a row, or the reason why there is none."""

    summary: Summary | None = None
    variant: str = ""  # the form of the system that was fastest, and was measured
    variants: dict[str, float] = field(default_factory=dict)  # all forms in the warm-up, in the row's unit
    missing: str = ""

    def as_json(self) -> dict[str, Any]:
        if self.summary is None:
            return {"missing": self.missing}
        found: dict[str, Any] = self.summary.as_json()
        if self.variant:
            found["variant"] = self.variant
        if len(self.variants) > 1:
            found["variants"] = {name: float(f"{value:.6g}") for name, value in self.variants.items()}
        return found


@dataclass
class Row:
    id: str  # "b/cnn64/32"; the first part is the section
    title: str
    unit: str
    better: str  # lower, higher, or none where less is not better and more is not better
    cells: dict[str, Cell] = field(default_factory=dict)
    limit: float | None = None  # what the machine allows, in the row's unit

    @property
    def section(self) -> str:
        return self.id.split("/")[0]

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "title": self.title, "unit": self.unit, "better": self.better, "limit": self.limit,
            "systems": {key: cell.as_json() for key, cell in self.cells.items()},
        }


@dataclass(frozen=True)
class Settings:
    quick: bool
    threads: int
    rounds: int
    block: float  # seconds of one block
    calibration: float  # seconds of the run that chooses among a system's forms
    spawns: int

    @staticmethod
    def make(mode: str, threads: int) -> "Settings":
        if mode == "smoke":
            return Settings(True, threads, rounds=1, block=0.01, calibration=0.01, spawns=1)
        if mode == "quick":
            return Settings(True, threads, rounds=3, block=0.4, calibration=0.15, spawns=3)
        return Settings(False, threads, rounds=7, block=0.8, calibration=0.4, spawns=5)
