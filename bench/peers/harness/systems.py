"""Which systems are here, in which version, how each one's workers are started, and why a missing one is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
WORKERS = HERE / "workers"


@dataclass
class System:
    key: str
    label: str  # a column's heading
    version: str = ""
    python: str = ""  # the interpreter of its workers; empty for C++ programs
    program: str = ""  # the worker of a C++ system
    scripts: str = ""  # workers/SCRIPTS_step.py and so on
    missing: str = ""  # why it is not here; empty when it is
    details: dict[str, object] = field(default_factory=dict)

    @property
    def present(self) -> bool:
        return not self.missing

    def worker(self, kind: str, *arguments: str) -> list[str]:
        """The command of one of its workers (step, pipeline, fit, start): a Python script, or a program's subcommand."""
        if self.program:
            return [self.program, kind, *arguments]
        return [self.python, str(WORKERS / f"{self.scripts}_{kind}.py"), *arguments]


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stoker"


def venv_dir() -> Path:
    return Path(os.environ.get("STOKER_PEERS_VENV") or cache_dir() / "peers")


def interpreters() -> list[str]:
    """The peers' own environment first, then whatever Python the machine has (Debian's packages, a GPU image)."""
    candidates = [str(venv_dir() / "bin" / "python"), os.environ.get("STOKER_PEERS_PYTHON", ""), "/usr/bin/python3",
                  sys.executable, shutil.which("python3") or ""]
    found: list[str] = []
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK) and candidate not in found:
            found.append(candidate)
    return found


def probe(python: str, modules: str) -> dict[str, object]:
    """Imports `modules` ("tensorflow,keras") and returns versions and facts, or {"error": why}."""
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONDONTWRITEBYTECODE="1")
    try:
        done = subprocess.run([python, str(WORKERS / "probe.py"), modules], capture_output=True, text=True, timeout=300,
                              env=env, check=False)
    except subprocess.TimeoutExpired:
        return {"error": "the import took more than 300 s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if lines:
        return json.loads(lines[-1])
    errors = done.stderr.strip().splitlines()
    return {"error": errors[-1] if errors else f"ended with status {done.returncode}"}


def tools() -> dict[str, str]:
    """What the peers' environment holds beside the systems: TensorBoard reads our event files, ONNX Runtime our exports."""
    python = str(venv_dir() / "bin" / "python")
    script = ("import importlib.metadata as m, json\nfound = {}\nfor name in ('tensorboard', 'onnxruntime'):\n"
              "    try: found[name] = m.version(name)\n    except m.PackageNotFoundError: found[name] = 'missing'\n"
              "print(json.dumps(found))")
    try:
        return json.loads(subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return {}


def _first_with(modules: str) -> tuple[str, dict[str, object]]:
    """The first interpreter that can import the modules; otherwise the most telling failure."""
    failure: dict[str, object] = {"error": "no Python interpreter"}
    for python in interpreters():
        facts = probe(python, modules)
        if "error" not in facts:
            return python, facts
        if "No module named" not in str(facts["error"]) or failure["error"] == "no Python interpreter":
            failure = facts
    return "", failure


def _python_system(key: str, name: str, modules: str) -> System:
    python, facts = _first_with(modules)
    if not python:
        return System(key, name, missing=str(facts["error"]))
    version = str(facts["version"])
    return System(key, f"{name} {version}", version, python=python, scripts=key, details=facts)


def _tfdata(keras: System) -> System:
    """TensorFlow's own half of the Keras that was found; it may be there without Keras too."""
    if not keras.present:
        return _python_system("tfdata", "tf.data", "tensorflow")
    version = str(keras.details["versions"]["tensorflow"])
    return System("tfdata", f"tf.data {version}", version, python=keras.python, scripts="tfdata", details=keras.details)


def _version_key(version: str) -> list[int]:
    return [int(part) for part in version.split("+")[0].split(".") if part.isdigit()]


def _torches() -> list[System]:
    """Every distinct PyTorch of this machine, newest first: at most two."""
    found: dict[str, System] = {}
    failure = "not installed"
    for python in interpreters():
        facts = probe(python, "torch,numpy")
        if "error" in facts:
            if "No module named" not in str(facts["error"]):
                failure = str(facts["error"])
            continue
        version = str(facts["version"]).split("+")[0]
        found.setdefault(version, System("", f"PyTorch {version}", version, python=python, scripts="torch", details=facts))
    if not found:
        return [System("torch", "PyTorch", missing=failure)]
    newest_first = sorted(found.values(), key=lambda system: _version_key(system.version), reverse=True)[:2]
    for system, key in zip(newest_first, ("torch", "torch_old")):
        system.key = key
    return newest_first


def _stoker(build: Path) -> System:
    program = build / "bin" / "bench_peers"
    if not program.exists():
        return System("stoker", "Stoker", missing=f"{program.name} is not built")
    done = subprocess.run([str(program), "version"], capture_output=True, text=True, check=False)
    facts = json.loads(done.stdout) if done.returncode == 0 else {}
    version = str(facts.get("version", ""))
    return System("stoker", f"Stoker {version}".strip(), version, program=str(program), details=facts)


def _libtorch(torch: System, key: str, work: Path) -> System:
    """The C++ worker, compiled against the libtorch that belongs to a PyTorch (the wheel's, or Debian's libtorch-dev)."""
    from . import cpp

    label = f"libtorch {torch.version}"
    if not torch.present:
        return System(key, "libtorch", missing=torch.missing)
    try:
        program = cpp.build_libtorch(torch, "libtorch_worker", work)
    except cpp.BuildError as error:
        return System(key, label, torch.version, missing=str(error))
    return System(key, label, torch.version, program=str(program), details=torch.details)


def discover(build: Path, work: Path) -> dict[str, System]:
    """All systems by key, in the order of the columns."""
    torches = _torches()
    systems = [_stoker(build), _python_system("keras", "Keras", "keras,tensorflow"), *torches]
    for torch, key in zip(torches, ("libtorch", "libtorch_old")):
        systems.append(_libtorch(torch, key, work))
    systems.append(_tfdata(systems[1]))
    newest = torches[0]
    systems.append(System("dataloader", f"DataLoader {newest.version}".strip(), newest.version, python=newest.python,
                          scripts="dataloader", missing=newest.missing, details=newest.details))
    systems.append(_python_system("grain", "Grain", "grain"))
    return {system.key: system for system in systems}
