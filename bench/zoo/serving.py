"""What the peers of turns.py share: steps on request, one JSON object per line."""

from __future__ import annotations

import json
import sys
import time
from typing import Callable


def serve(step: Callable[[], object], wait: Callable[[], object] = lambda: None) -> None:
    """Says that it is ready; then reads numbers and answers with the seconds that so many steps took."""
    step()
    wait()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            step()
        wait()
        print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
