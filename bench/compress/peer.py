#!/usr/bin/env python3
"""peer.py FOLDER: how much faster int8 inference is in ONNX Runtime and PyTorch, for the model and inputs in FOLDER.

Run it with the environment of scripts/peers-setup.sh, or it runs itself there. Prints JSON lines: milliseconds of the float and
the int8 step, medians of blocks that take turns, and their ratio. All processors compute. PyTorch has the CNN of 64 and 128
filters only, with weights of its own.
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


def measure(peer: str, before: Callable[[], object], after: Callable[[], object]) -> None:
    """Shows the medians of blocks that take turns, and the ratio of the medians."""
    for step in (before, after):
        for _ in range(3):
            step()
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(20):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            begin = time.perf_counter()
            for _ in range(3):
                (before, after)[which]()
            times[which].append((time.perf_counter() - begin) / 3 * 1e3)
    medians = [statistics.median(each) for each in times]
    show("float, inference", peer, medians[0], "ms")
    show("int8, inference of 64", peer, medians[1], "ms")
    show("int8, inference", peer, medians[0] / medians[1], "× as fast")


def show(row: str, peer: str, value: float, unit: str) -> None:
    print(json.dumps({"row": row, "peer": peer, "value": round(value, 3), "unit": unit}), flush=True)


def onnx_runtime(folder: pathlib.Path, x: np.ndarray) -> None:
    import onnxruntime as ort
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

    source, target = str(folder / "model.onnx"), str(folder / "int8.onnx")
    name = ort.InferenceSession(source, providers=["CPUExecutionProvider"]).get_inputs()[0].name

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [{name: x}]

        def get_next(self) -> dict[str, np.ndarray] | None:
            return self.left.pop() if self.left else None

    quantize_static(source, target, Reader(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)  # fmt: skip
    dynamic = str(folder / "dynamic.onnx")
    quantize_dynamic(source, dynamic, per_channel=True, weight_type=QuantType.QUInt8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = os.cpu_count() or 1
    runs = []
    for path in (source, target, dynamic):
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        runs.append(lambda s=session: s.run(None, {name: x}))
    measure(f"ONNX Runtime {ort.__version__}", runs[0], runs[1])
    measure(f"ONNX Runtime {ort.__version__}, dynamic", runs[0], runs[2])


def pytorch(x: np.ndarray) -> None:
    import torch
    from torch import nn
    from torch.ao import quantization as q

    height, channels = x.shape[1], x.shape[3]
    side = ((height - 2) // 2 - 2) // 2
    torch.backends.quantized.engine = "x86"
    torch.set_num_threads(os.cpu_count() or 1)
    model = nn.Sequential(nn.Conv2d(channels, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 128, 3), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128 * side * side, 10)).eval()  # fmt: skip
    data = torch.from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2))).to(memory_format=torch.channels_last)
    small = nn.Sequential(q.QuantStub(), *q.fuse_modules(model, [["0", "1"], ["3", "4"]]), q.DeQuantStub()).eval()
    small.qconfig = q.get_default_qconfig("x86")
    q.prepare(small, inplace=True)
    with torch.inference_mode():
        small(data)
        q.convert(small, inplace=True)
        measure(f"PyTorch {torch.__version__}", lambda: model(data), lambda: small(data))


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
