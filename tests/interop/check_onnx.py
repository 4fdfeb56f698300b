#!/usr/bin/env python3
"""Runs ONNX files with ONNX Runtime and compares the results with what Stoker gave.

    check_onnx.py DIR    for every NAME.onnx the cases NAME.N.safetensors: tensors "input:X" and "output:Y"

A float may differ by TOLERANCE of the largest expected value (of 1, where all are smaller); of NAMEs that begin with
"quantize", an eight-bit code by 1, as ONNX Runtime may round in another order; anything else must be equal.
Exit code 77 where a package is missing.
"""

import sys
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from safetensors.numpy import load_file
except ImportError as error:
    print(f"skipped: {error}; scripts/peers-setup.sh installs it")
    sys.exit(77)

TOLERANCE = 2e-5
INT8_TOLERANCE = 0.03  # of models whose NAME begins with "int8": a code that is 1 off moves everything behind it


def error_of(got, expected, codes):
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype}{got.shape}, expected {expected.dtype}{expected.shape}"
    if got.size == 0:
        return 0.0
    if not np.issubdtype(expected.dtype, np.floating):
        apart = np.max(np.abs(got.astype(np.int64) - expected.astype(np.int64)))
        return 0.0 if apart <= (1 if codes and expected.dtype == np.uint8 else 0) else f"up to {apart} apart"
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0, np.abs(got.astype(np.float64) - expected))
    return float(np.max(difference) / max(1.0, np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)))


def check(path):
    """The largest error of a model, or a text."""
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    worst = 0.0
    for case in sorted(path.parent.glob(path.stem + ".*.safetensors")):
        tensors = load_file(case)
        inputs = {key[6:]: value for key, value in tensors.items() if key.startswith("input:")}
        results = dict(zip(names, session.run(names, inputs)))
        expected = {key[7:]: value for key, value in tensors.items() if key.startswith("output:")}
        if set(results) != set(expected):
            return f"outputs {sorted(results)}, expected {sorted(expected)}"
        for name, value in expected.items():
            error = error_of(results[name], value, path.stem.startswith("quantize"))
            if isinstance(error, str):
                return f"{case.name}, {name}: {error}"
            worst = max(worst, error)
    return worst


def main(directory):
    onnxruntime.set_default_logger_severity(3)
    worst, at, failures, models = 0.0, "none", [], sorted(Path(directory).glob("*.onnx"))
    for path in models:
        try:
            error = check(path)
        except Exception as problem:  # pylint: disable=broad-except
            error = f"{type(problem).__name__}: {problem}"
        allowed = INT8_TOLERANCE if path.stem.startswith("int8") else TOLERANCE
        if isinstance(error, str) or error > allowed:
            failures.append(f"{path.stem}: {error}")
        elif error > worst and allowed == TOLERANCE:
            worst, at = error, path.stem
    for failure in failures:
        print(failure)
    print(f"{len(models)} models, {len(failures)} failures, largest error {worst:.1e} ({at}); onnx {onnx.__version__}, "
          f"ONNX Runtime {onnxruntime.__version__}")
    return 1 if failures or not models else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
