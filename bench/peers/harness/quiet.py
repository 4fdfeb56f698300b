"""A quiet machine while a row is measured, where other work runs on it and keeps to a lock."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path


class Quiet:
    """Holds the lock of a file exclusively inside `with`. Between two of them it stays away for a while, so that those who
    wait get their turn. Without a file it does nothing."""

    def __init__(self, path: Path | None = None, pause: float = 0.0) -> None:
        self._file = path.open("a") if path else None
        self._pause = pause
        self._not_before = 0.0

    def __enter__(self) -> "Quiet":
        if self._file:
            time.sleep(max(0.0, self._not_before - time.monotonic()))
            fcntl.flock(self._file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._not_before = time.monotonic() + self._pause
