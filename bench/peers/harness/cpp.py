"""Compiles the C++ programs that are no part of Stoker's build: libtorch's worker, the two hello-world programs, the limits."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from .systems import HERE, System

ALONE = HERE / "alone"


class BuildError(RuntimeError):
    pass


def compiler() -> str:
    return os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++") or "c++"


def run(command: list[str]) -> float:
    """Runs the compiler and returns the seconds it took."""
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise BuildError(f"no C++ compiler: {error}") from error
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise BuildError(errors[0][:200] if errors else f"{command[0]} ended with status {done.returncode}")
    return time.monotonic() - begin


def libtorch_flags(torch: System) -> list[str]:
    """Include folders, libraries and the language version of the libtorch that belongs to this PyTorch."""
    root = Path(str(torch.details["torch_root"]))
    headers, libraries = root / "include", root / "lib"
    flags = ["-std=c++20" if torch.version >= "2." else "-std=c++17"]
    if (headers / "torch").is_dir():
        flags += [f"-isystem{headers}", f"-isystem{headers}/torch/csrc/api/include", f"-L{libraries}",
                  f"-Wl,-rpath,{libraries}", f"-D_GLIBCXX_USE_CXX11_ABI={int(bool(torch.details.get('abi', True)))}"]
    elif Path("/usr/include/torch/csrc/api/include").is_dir():
        flags += ["-isystem/usr/include/torch/csrc/api/include"]
    else:
        raise BuildError("no C++ headers: libtorch-dev is not installed")
    # libtorch_cpu alone: the wheel's CUDA half costs start-up time and is not wanted here.
    libraries_wanted = ["-ltorch_cpu", "-lc10"]
    if torch.details.get("cuda"):
        libraries_wanted = ["-Wl,--no-as-needed", "-ltorch", "-ltorch_cuda", "-lc10_cuda", *libraries_wanted]
    return flags + ["-fopenmp", *libraries_wanted]


def build_libtorch(torch: System, source: str, work: Path) -> Path:
    """alone/SOURCE.cpp against this libtorch; kept until source or version changes."""
    text = (ALONE / f"{source}.cpp").read_bytes() + "".join(libtorch_flags(torch)).encode()
    target = work / f"{source}-{torch.version}-{hashlib.sha256(text).hexdigest()[:12]}"
    if not target.exists():
        compile_libtorch(torch, source, target)
    return target


def compile_libtorch(torch: System, source: str, target: Path) -> float:
    flags = libtorch_flags(torch)
    return run([compiler(), "-O2", "-w", str(ALONE / f"{source}.cpp"), "-o", str(target), *flags])


def compile_stoker(build: Path, source: str, target: Path, include: Path) -> float:
    """As a user of an installed Stoker would: headers, libstoker and what it is linked with."""
    library = next((build / "lib").glob("libstoker.*"), None)
    if library is None:
        raise BuildError("libstoker is not built")
    return run([compiler(), "-std=c++20", "-O2", f"-I{include}", f"-I{build}/generated/include",
                str(ALONE / f"{source}.cpp"), "-o", str(target), str(library), "-fopenmp", "-ldnnl", "-lfmt", "-ljpeg", "-lpng", "-lz"])


def build_limits(work: Path) -> Path:
    text = (ALONE / "limits.cpp").read_bytes()
    target = work / f"limits-{hashlib.sha256(text).hexdigest()[:12]}"
    if not target.exists():
        run([compiler(), "-std=c++20", "-O2", str(ALONE / "limits.cpp"), "-o", str(target), "-pthread", "-ljpeg"])
    return target
