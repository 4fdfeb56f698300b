"""Bytes that a system puts on the disk: its packages with everything they need, or its libraries with those they load."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Iterable

from .systems import WORKERS, System

# On every system anyway: counted for nobody.
BASE = re.compile(r"^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))[-.]")


def tree(folder: Path, pattern: str = "*") -> int:
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def loaded_libraries(binary: Path) -> set[Path]:
    """What the dynamic loader brings in for this program or library."""
    done = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=True)
    found = set()
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", done.stdout, re.MULTILINE):
        if not BASE.match(name):
            found.add(Path(path).resolve())
    return found


def sum_of(files: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in set(files))


def installed(system: System, build: Path, headers: Path) -> int:
    if system.key == "stoker":
        return tree(headers, "*.h") + sum_of((build / "lib").glob("libstoker.*")) + sum_of(
            loaded_libraries(Path(system.program)))
    if system.program:
        return sum_of(loaded_libraries(Path(system.program))) + _libtorch_headers(Path(str(system.details["torch_root"])))
    root = Path(str(system.details.get("torch_root", "")))
    if str(root).startswith("/usr/lib/python3"):
        libraries = loaded_libraries(next(root.glob("lib/libtorch_python.so*")))
        return tree(root) + sum_of(path for path in libraries if root not in path.parents)
    names = "torch" if "torch_root" in system.details else "tensorflow,tensorflow-cpu,keras"
    with_gpu = ["--with-gpu"] if system.details.get("cuda") else []
    done = subprocess.run([system.python, str(WORKERS / "install_size.py"), names, *with_gpu], capture_output=True, text=True,
                          check=True)
    return int(done.stdout.split()[-1])


def _libtorch_headers(root: Path) -> int:
    if (root / "include" / "torch").is_dir():
        return tree(root / "include")
    return sum(tree(Path("/usr/include") / name) for name in ("torch", "ATen", "c10", "caffe2"))
