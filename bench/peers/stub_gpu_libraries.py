#!/usr/bin/env python3
"""Lets PyPI's PyTorch run on a machine without a GPU and without the gigabytes of GPU packages that it asks for.

    stub_gpu_libraries.py TORCH_FOLDER...

The wheel's libraries are linked with CUDA's. Every one of those that is missing is replaced by a small library of the same
name, written beside them, in which each function answers "no device" (100). PyTorch then finds no GPU and uses its CPU half,
which is complete. Needs a C compiler, nm and objdump.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

GPU_LIBRARY = re.compile(r"lib(cu|nvrtc|nccl|nvshmem|nvJitLink|nvjpeg|nvToolsExt)")
GPU_SYMBOL = re.compile(r"(__)?(cu|nvrtc|nccl|nvshmem|nvJitLink|nvjpeg|nvtx)")


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(library: Path) -> tuple[set[str], dict[str, set[str]]]:
    """GPU libraries that this one is linked with, and the symbol versions it wants of each."""
    names: set[str] = set()
    versions: dict[str, set[str]] = {}
    source = ""
    for line in output("objdump", "-p", str(library)).splitlines():
        if match := re.match(r"\s+NEEDED\s+(\S+)", line):
            names.add(match.group(1))
        elif match := re.search(r"required from (\S+):", line):
            source = match.group(1)
        elif match := re.match(r"\s+0x\S+ 0x\S+ \d+ (\S+)", line):
            versions.setdefault(source, set()).add(match.group(1))
    return {name for name in names if GPU_LIBRARY.match(name)}, versions


def symbols(libraries: list[Path]) -> set[str]:
    """What all libraries together want of the GPU's and nobody of them defines."""
    wanted: set[str] = set()
    defined: set[str] = set()
    for library in libraries:
        for line in output("nm", "-D", str(library)).splitlines():
            kind, name = line.split()[-2:]
            (wanted if kind in "Uvw" else defined).add(name.split("@")[0])
    return {name for name in wanted - defined if GPU_SYMBOL.match(name)}


def definition(name: str) -> str:
    if name == "__cudaRegisterFatBinary":
        return f"static void* handle; void** {name}(void) {{ return &handle; }}"
    if name.startswith("__"):  # registration at start-up, which must look as if it worked
        return f"long {name}(void) {{ return 0; }}"
    if "GetErrorString" in name or "GetErrorName" in name or "GetLastErrorMessage" in name:
        return f'const char* {name}(void) {{ return "this machine has no GPU"; }}'
    if name == "cudaPeekAtLastError":
        return f"int {name}(void) {{ return 0; }}"
    return f"int {name}(void) {{ return 100; }}"


def build(name: str, source: Path, versions: set[str], target: Path) -> None:
    command = ["cc", "-w", "-O1", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{name}", str(source), "-o", str(target)]
    if versions:
        script = source.with_name("versions.map")
        script.write_text("".join(f"{version} {{ {'global: *;' if index == 0 else ''} }};\n"
                                  for index, version in enumerate(sorted(versions))))
        command.append(f"-Wl,--version-script={script}")
    subprocess.run(command, check=True)


def main(folders: list[Path]) -> None:
    libraries = [path for folder in folders for path in folder.rglob("*.so*") if path.is_file() and not path.is_symlink()]
    names: set[str] = set()
    versions: dict[str, set[str]] = {}
    for library in libraries:
        more, of = needed(library)
        names |= more
        for name, found in of.items():
            versions.setdefault(name, set()).update(found)
    missing = sorted(name for name in names if name not in {path.name for path in libraries})
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "stub.c"
        source.write_text("\n".join(definition(name) for name in sorted(symbols(libraries))) + "\n")
        for name in missing:
            build(name, source, versions.get(name, set()), folders[0] / "lib" / name)
    print(f"stubs for {len(missing)} GPU libraries in {folders[0] / 'lib'}")


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
