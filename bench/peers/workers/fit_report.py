"""What a fit worker prints: one JSON line at its end."""

from __future__ import annotations

import json
import sys
import time
from typing import Any


class Report:
    def __init__(self) -> None:
        self.epochs: list[float] = []
        self._begin = 0.0

    def epoch_begins(self) -> None:
        self._begin = time.perf_counter()

    def epoch_ends(self) -> None:
        self.epochs.append(time.perf_counter() - self._begin)

    def print(self, samples: int, accuracy: float) -> None:
        print(json.dumps({"epochs": self.epochs, "samples": samples, "accuracy": float(accuracy)}), flush=True)


def spec() -> dict[str, Any]:
    return json.loads(sys.argv[1])
