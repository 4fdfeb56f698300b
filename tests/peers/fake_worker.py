"""A worker without a framework: one variant says that it takes longer than the other, one fails. Nothing is timed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "peers" / "workers"))

from protocol import Block, Loaded, serve  # noqa: E402


def taking(seconds: float) -> Block:
    return lambda n: {"seconds": seconds * n}


def broken() -> Block:
    raise RuntimeError("this form does not work here\nand a second line")


def load(workload: dict) -> Loaded:
    if workload["model"] == "unknown":
        raise ValueError("no such model")
    print("a library that talks")  # must not reach the driver
    return Loaded({"slow": lambda: taking(0.004), "fast": lambda: taking(0.001), "broken": broken},
                  {"parameters": workload["parameters"]})


if __name__ == "__main__":
    serve(load)
