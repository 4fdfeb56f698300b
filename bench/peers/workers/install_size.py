"""Bytes of the given distributions (those that are installed) and of all that they require.

    install_size.py torch,numpy [--with-gpu]

Without --with-gpu the CUDA half of PyPI's PyTorch is left out: nobody needs it on a machine without a GPU."""

from __future__ import annotations

import importlib.metadata as metadata
import re
import sys

GPU_PART = re.compile(r"torch/lib/lib(torch_cuda|c10_cuda|torch_nvshmem|caffe2_nvrtc|cu|nv|nccl)|^nvidia/|^triton/")

WITH_GPU = "--with-gpu" in sys.argv


def requirements(distribution: metadata.Distribution) -> list[str]:
    names = []
    for line in distribution.requires or []:
        if "extra ==" not in line:
            names.append(re.split(r"[ ;<>=!~\[(]", line, maxsplit=1)[0])
    return names


def closure(names: list[str]) -> dict[str, metadata.Distribution]:
    found: dict[str, metadata.Distribution] = {}
    while names:
        name = names.pop().lower().replace("_", "-")
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        names += requirements(found[name])
    return found


def size(distribution: metadata.Distribution) -> int:
    total = 0
    for file in distribution.files or []:
        if file.suffix != ".pyc" and (WITH_GPU or not GPU_PART.search(str(file))):
            try:
                total += file.locate().stat().st_size
            except OSError:
                continue
    return total


print(sum(size(distribution) for distribution in closure(sys.argv[1].split(",")).values()))
