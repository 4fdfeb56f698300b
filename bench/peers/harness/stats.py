"""Medians and spread of the repeated blocks of one cell."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Iterable, Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """Linear interpolation between the closest ranks; `share` from 0 to 1."""
    if not values:
        raise ValueError("percentile of no values")
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


@dataclass(frozen=True)
class Summary:
    """What a cell of a table shows: the median and the range from the 10th to the 90th percentile."""

    median: float
    low: float
    high: float
    samples: tuple[float, ...]

    @staticmethod
    def of(samples: Iterable[float]) -> "Summary":
        values = tuple(samples)
        return Summary(statistics.median(values), percentile(values, 0.1), percentile(values, 0.9), values)

    def as_json(self) -> dict[str, object]:
        return {
            "median": self.median,
            "p10": self.low,
            "p90": self.high,
            "samples": [float(f"{value:.6g}") for value in self.samples],
        }


def gain(ours: float, theirs: float, better: str) -> float:
    """How many times better `ours` is: above 1 we are ahead, below 1 behind."""
    if better not in ("lower", "higher"):
        raise ValueError(f"better: expected lower or higher, got {better!r}")
    if ours <= 0 or theirs <= 0:
        raise ValueError(f"gain of {ours} over {theirs}: both must be positive")
    return theirs / ours if better == "lower" else ours / theirs


def best(values: dict[str, float], better: str) -> str | None:
    """The key of the best value; None when there is none."""
    if not values:
        return None
    pick = min if better == "lower" else max
    return pick(values, key=lambda key: values[key])


def block_size(seconds_per_unit: float, target: float, least: int = 2, most: int = 100_000) -> int:
    """How many units fill a block of about `target` seconds."""
    return max(least, min(most, round(target / max(seconds_per_unit, 1e-9))))
