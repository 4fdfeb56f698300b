"""Imports the modules of argv[1] ("keras,tensorflow"; the first one names the version) and prints what the driver wants
to know about them as one JSON line. An exception on stderr is the reason why the peer is missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys


def version_of(name: str) -> str:
    module = sys.modules[name]
    found = getattr(module, "__version__", None)
    if isinstance(found, str):
        return found
    return importlib.metadata.version(name)


def torch_facts() -> dict[str, object]:
    import torch

    return {
        "torch_root": torch.__path__[0],
        "cuda": torch.cuda.is_available(),
        "isa": torch.backends.cpu.get_cpu_capability() if hasattr(torch.backends, "cpu") else "",
        "mkl": torch.backends.mkl.is_available(),
        "abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI),
    }


def main() -> None:
    names = sys.argv[1].split(",")
    for name in names:
        importlib.import_module(name)
    facts: dict[str, object] = {"version": version_of(names[0]), "versions": {name: version_of(name) for name in names}}
    facts["python"] = ".".join(map(str, sys.version_info[:3]))
    if "torch" in names:
        facts.update(torch_facts())
        try:
            import torchvision

            facts["torchvision"] = torchvision.__version__
        except Exception as error:  # noqa: BLE001: whatever keeps it from importing is the reason
            facts["torchvision_missing"] = str(error)
    if "tensorflow" in names:
        import tensorflow as tf

        facts["cuda"] = bool(tf.config.list_physical_devices("GPU"))
    print(json.dumps(facts), flush=True)


main()
