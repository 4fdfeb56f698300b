#!/usr/bin/env python3
"""The official safetensors package reads what Stoker wrote, and writes what Stoker will read (test_safetensors_peer.cpp).

    check_safetensors.py DIR    reads DIR/ours.safetensors and DIR/many.safetensors, writes DIR/theirs.safetensors

Exit code 77 where a package is missing.
"""

import sys
from pathlib import Path

try:
    import ml_dtypes
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
except ImportError as error:
    print(f"skipped: {error}; scripts/peers-setup.sh installs it")
    sys.exit(77)

METADATA = {"format": "pt", "note": 'ä "quoted"\n'}
DTYPES = {
    "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "int8": np.int8, "int16": np.int16,
    "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "bool": np.bool_,
}


def expected():
    """One tensor of every dtype, a scalar and an empty one: as many() and all_dtypes() of the test have them."""
    tensors = {name: np.arange(6).reshape(2, 3).astype(dtype) for name, dtype in DTYPES.items()}
    tensors["scalar"] = np.array(-7, dtype=np.int64)
    tensors["empty"] = np.zeros((0, 4), dtype=np.float32)
    return tensors


def bits(tensor):
    return tensor.dtype.name, tensor.shape, tensor.tobytes()


def main(directory):
    ours = load_file(directory / "ours.safetensors")
    assert set(ours) == set(expected()), sorted(ours)
    for name, tensor in expected().items():
        assert bits(ours[name]) == bits(tensor), f"{name}: {ours[name]!r}, expected {tensor!r}"
    with safe_open(directory / "ours.safetensors", framework="numpy") as file:
        assert file.metadata() == METADATA, file.metadata()
    many = load_file(directory / "many.safetensors")
    assert len(many) == 20000, len(many)
    assert all(many[f"layer_{i}/weight"] == i for i in range(20000))
    save_file(expected(), directory / "theirs.safetensors", metadata=METADATA)
    print(f"{len(ours)} and {len(many)} tensors, equal")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
