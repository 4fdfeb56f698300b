"""Worker processes: one JSON object a line on stdin, one on stdout. Between its turns a worker is stopped (SIGSTOP to its
process group), so that spinning threads and background work of one system never cost another one time."""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Mapping, Sequence


_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def _die_with_the_driver() -> None:
    """In the child, before it becomes the worker: a driver that is killed leaves no stopped process behind."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class WorkerError(RuntimeError):
    """The worker said no, ended or did not answer; the message is fit for the table."""


class Worker:
    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self._log = log
        self._log_file = log.open("ab")
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log_file,
            env=dict(env), start_new_session=True, preexec_fn=_die_with_the_driver,
        )
        self._stopped = False

    @property
    def group(self) -> int:
        return self._process.pid

    def ask(self, request: Mapping[str, Any], timeout: float = 600.0) -> dict[str, Any]:
        """Wakes the worker, hands it the request, waits for the answer and puts it to sleep again."""
        self._signal(signal.SIGCONT)
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(dict(request)).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._read(timeout)
        except BrokenPipeError as error:
            raise WorkerError(self._last_words()) from error
        self._signal(signal.SIGSTOP)
        if "error" in answer:
            raise WorkerError(str(answer["error"]))
        return answer

    def _read(self, timeout: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                self.end(kill=True)
                raise WorkerError(f"no answer within {timeout:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(self._last_words())
        return json.loads(line)

    def _last_words(self) -> str:
        """The last line that the worker wrote to stderr, which is usually the exception."""
        self._process.wait()
        text = self._log.read_text(errors="replace").strip()
        last = text.splitlines()[-1] if text else ""
        return last or f"ended with status {self._process.returncode}"

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            os.killpg(self.group, number)

    def end(self, kill: bool = False) -> None:
        if self._process.poll() is None:
            self._signal(signal.SIGCONT)
            if kill:
                self._signal(signal.SIGKILL)
            assert self._process.stdin is not None
            try:
                self._process.stdin.close()
                self._process.wait(timeout=10)
            except (subprocess.TimeoutExpired, BrokenPipeError):
                self._signal(signal.SIGKILL)
                self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log_file):
            if stream is not None:
                stream.close()


class MemoryWatch:
    """Samples the proportional set size of a process group, children included, and keeps the highest sum."""

    def __init__(self, group: int, interval: float = 0.05) -> None:
        self.peak = 0
        self._group = group
        self._interval = interval
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.peak = max(self.peak, group_memory(self._group))
            if self._done.wait(self._interval):
                return


def group_memory(group: int) -> int:
    """Bytes held by the group's processes; pages that several share count once."""
    return sum(_proportional_bytes(pid) for pid in _members(group))


def _members(group: int) -> list[int]:
    members = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.getpgid(int(entry)) == group:
                    members.append(int(entry))
            except OSError:
                continue
    return members


def _proportional_bytes(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Spawn:
    """A program run from start to end: its JSON lines with the moment each arrived, its CPU time and its peak memory."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], log: Path, timeout: float = 1200.0,
                 watch_memory: bool = False) -> None:
        self.lines: list[tuple[float, dict[str, Any]]] = []
        with log.open("ab") as errors:
            begin = time.monotonic()
            process = subprocess.Popen(list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                       env=dict(env), start_new_session=True, preexec_fn=_die_with_the_driver)
            alarm = threading.Timer(timeout, lambda: os.killpg(process.pid, signal.SIGKILL))
            alarm.start()
            watch = MemoryWatch(process.pid, 0.1)
            if watch_memory:
                watch.__enter__()
            assert process.stdout is not None
            for line in process.stdout:
                arrived = time.monotonic() - begin
                if line.startswith(b"{"):
                    self.lines.append((arrived, json.loads(line)))
            if watch_memory:
                watch.__exit__()
            process.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
            alarm.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            self.wall = time.monotonic() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = watch.peak if watch_memory else usage.ru_maxrss * 1024
        if process.returncode != 0:
            text = log.read_text(errors="replace").strip()
            raise WorkerError(text.splitlines()[-1] if text else f"ended with status {process.returncode}")

    def result(self) -> dict[str, Any]:
        if not self.lines:
            raise WorkerError("printed no result")
        return self.lines[-1][1]
