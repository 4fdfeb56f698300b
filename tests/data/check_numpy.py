#!/usr/bin/env python3
"""NumPy reads what Stoker wrote, and writes what Stoker will read (test_numpy.cpp).

    check_numpy.py DIR    reads DIR/ours.npz, packed.npz and ours.npy, writes theirs.npz and the others

Exit code 77 where a package is missing.
"""

import sys
import zipfile
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}; scripts/peers-setup.sh installs it")
    sys.exit(77)

COUNTED = np.arange(6, dtype=np.float32).reshape(2, 3)


def expected():
    """As all_arrays() of the test has them."""
    arrays = {name: COUNTED.astype(name) for name in "float32 float16 int8 int16 int32 int64 uint8 bool".split()}
    arrays["scalar"] = np.array(-7, dtype=np.int64)
    arrays["empty"] = np.zeros((0, 4), dtype=np.float32)
    arrays["one"] = np.array([0.5], dtype=np.float32)
    arrays["texts"] = np.array([b"a", b"", b"long one"])
    return arrays


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def write_version(path, version):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, COUNTED, version=version)


def write_zip64(path):
    with zipfile.ZipFile(path, "w") as archive, archive.open("x.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, COUNTED)


def main(directory):
    for name in ("ours.npz", "packed.npz"):
        with np.load(directory / name) as ours:
            assert sorted(ours.files) == sorted(expected()), ours.files
            for key, array in expected().items():
                assert same(ours[key], array), (name, key, ours[key])
    assert same(np.load(directory / "ours.npy"), COUNTED)

    np.savez(directory / "theirs.npz", **expected())
    np.savez_compressed(directory / "theirs_packed.npz", **expected())
    np.savez(
        directory / "others.npz",
        fortran=np.asfortranarray(COUNTED),
        big_endian=COUNTED.astype(">f4"),
        big_fortran=np.asfortranarray(COUNTED.astype(">i4")),
        float64=COUNTED.astype(np.float64),
        uint16=np.array([0, 65535], dtype=np.uint16),
        uint32=np.array([0, 4294967295], dtype=np.uint32),
        unicode=np.array(["ä€", "𝄞"]),
        cube=np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4)),
    )
    write_version(directory / "version2.npy", (2, 0))
    write_version(directory / "version3.npy", (3, 0))
    np.save(directory / "objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    np.save(directory / "complex.npy", np.array([1j]))
    np.save(directory / "records.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
    write_zip64(directory / "zip64.npz")
    print(f"numpy {np.__version__}: the same both ways")


main(Path(sys.argv[1]))
