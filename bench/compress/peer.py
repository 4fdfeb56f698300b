#!/usr/bin/env python3
"""peer.py FOLDER: how much faster int8 inference is in ONNX Runtime and PyTorch, for the model and inputs in FOLDER.

Run it with the environment of scripts/peers-setup.sh, or it runs itself there. Prints a JSON line per peer: the ratio of the
float and the int8 step, each the median of blocks that take turns. PyTorch has the CNN of 64 and 128 filters only.
"""
from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

VENV = os.environ.get("STOKER_PEERS_VENV", os.path.expanduser("~/.cache/stoker/peers"))
PYTHON = pathlib.Path(VENV) / "bin" / "python"
if PYTHON.exists() and pathlib.Path(sys.prefix) != pathlib.Path(VENV):
    os.execv(PYTHON, [str(PYTHON), *sys.argv])

import numpy as np  # noqa: E402


def ratio(before: Callable[[], object], after: Callable[[], object]) -> float:
    """Median of the ratios of blocks that take turns."""
    for step in (before, after):
        for _ in range(3):
            step()
    ratios = []
    for _ in range(20):
        times = []
        for step in (before, after):
            begin = time.perf_counter()
            for _ in range(5):
                step()
            times.append(time.perf_counter() - begin)
        ratios.append(times[0] / times[1])
    return statistics.median(ratios)


def show(peer: str, value: float) -> None:
    print(json.dumps({"row": "int8, inference", "peer": peer, "value": round(value, 3), "unit": "× as fast"}), flush=True)


def onnx_runtime(folder: pathlib.Path, x: np.ndarray) -> None:
    import onnxruntime as ort
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    source, target = str(folder / "model.onnx"), str(folder / "int8.onnx")
    name = ort.InferenceSession(source, providers=["CPUExecutionProvider"]).get_inputs()[0].name

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [{name: x}]

        def get_next(self) -> dict[str, np.ndarray] | None:
            return self.left.pop() if self.left else None

    quantize_static(source, target, Reader(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)  # fmt: skip
    sessions = [ort.InferenceSession(path, providers=["CPUExecutionProvider"]) for path in (source, target)]
    show(f"ONNX Runtime {ort.__version__}", ratio(*[lambda s=s: s.run(None, {name: x}) for s in sessions]))


def pytorch(x: np.ndarray) -> None:
    import torch
    from torch import nn
    from torch.ao import quantization as q

    height, channels = x.shape[1], x.shape[3]
    side = ((height - 2) // 2 - 2) // 2
    torch.backends.quantized.engine = "x86"
    model = nn.Sequential(nn.Conv2d(channels, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 128, 3), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128 * side * side, 10)).eval()  # fmt: skip
    data = torch.from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2))).to(memory_format=torch.channels_last)
    small = nn.Sequential(q.QuantStub(), *q.fuse_modules(model, [["0", "1"], ["3", "4"]]), q.DeQuantStub()).eval()
    small.qconfig = q.get_default_qconfig("x86")
    q.prepare(small, inplace=True)
    with torch.inference_mode():
        small(data)
        q.convert(small, inplace=True)
        show(f"PyTorch {torch.__version__}", ratio(lambda: model(data), lambda: small(data)))


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    x = np.load(folder / "x.npy")
    for peer in (lambda: onnx_runtime(folder, x), lambda: pytorch(x)):
        try:
            peer()
        except Exception as error:  # a peer that is missing or cannot is left out
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
