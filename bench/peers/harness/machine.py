"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

VECTOR = ("amx_tile", "avx512_vnni", "avx512f", "avx2", "avx")


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def _field(path: str, name: str) -> str:
    try:
        match = re.search(rf"^{name}\s*[:=]\s*\"?(.*?)\"?$", Path(path).read_text(), re.MULTILINE)
    except OSError:
        return ""
    return match.group(1).strip() if match else ""


def _gpus() -> list[str]:
    if not shutil.which("nvidia-smi"):
        return []
    done = subprocess.run(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True, check=False)
    return [line.strip() for line in done.stdout.splitlines() if line.strip()] if done.returncode == 0 else []


def _compiler() -> str:
    name = os.environ.get("CXX") or "g++"
    if not shutil.which(name):
        return ""
    return subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0]


def describe() -> dict[str, object]:
    flags = _field("/proc/cpuinfo", "flags").split()
    memory = int(re.sub(r"\D", "", _field("/proc/meminfo", "MemTotal")) or 0)
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cores": usable_cores(),
        "vector": [flag for flag in VECTOR if flag in flags][:2],
        "memory_gib": round(memory / (1 << 20)),
        "os": _field("/etc/os-release", "PRETTY_NAME"),
        "kernel": platform.release(),
        "compiler": _compiler(),
        "gpus": _gpus(),
        "load": round(os.getloadavg()[0], 2),
        "real_time": os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR),
    }
