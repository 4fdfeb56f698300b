"""A worker without a framework: one variant sleeps longer than the other, one fails. Its step is a fixed time."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "peers" / "workers"))

from protocol import Block, Loaded, serve  # noqa: E402


def sleeper(seconds: float) -> Block:
    def run(n: int) -> None:
        time.sleep(seconds * n)

    return run


def broken() -> Block:
    raise RuntimeError("this form does not work here\nand a second line")


def load(workload: dict) -> Loaded:
    if workload["model"] == "unknown":
        raise ValueError("no such model")
    print("a library that talks")  # must not reach the driver
    return Loaded({"slow": lambda: sleeper(0.004), "fast": lambda: sleeper(0.001), "broken": broken},
                  {"parameters": workload["parameters"]})


if __name__ == "__main__":
    serve(load)
