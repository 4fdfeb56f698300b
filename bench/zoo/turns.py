#!/usr/bin/env python3
"""Networks and sequence models on a CPU in Stoker, PyTorch and Keras, in turns: ratios that a busy machine does not spoil.

    bench/zoo/turns.py [zoo] [sequences] [--build build/release] [--only TEXT] [--rounds 5] [--seconds 1] [--json FILE]
                       [--no-keras] [--cpu-time] [--results]

All contenders of a row live side by side and take turns, one block of steps each per round; whoever has no turn is stopped. A row's ratio is the
median over the rounds of (best peer's seconds per step) / (Stoker's), with the smallest and the largest. Rows are printed worst first.
--cpu-time runs every contender on one core and counts its CPU seconds instead of the clock's: for a machine that others use too.
--results writes bench/results/zoo-cpu-DATE.json and sequences-cpu-DATE.json. Python for the peers: STOKER_PEER_PYTHON, or the environment of
scripts/peers-setup.sh.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers"))
sys.dont_write_bytecode = True

from harness import machine  # noqa: E402

SEQUENCES = ("LSTM 2x512 b64 T200", "BiLSTM 2x512 b64 T200", "GRU 2x512 b64 T200")
TRANSFORMERS = ("Transformer 4x256 b16 T128 step", "ViT-S/16 b4 step", "generate 200, GPT 4x256 V256", "generate 200, GPT 6x384 V8192",
                "generate 200, GPT-2 124M")
BARS = {"generate": 2.0}  # by the first word of a row; all others 1.3


def peer_python() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    venv = Path(os.environ.get("STOKER_PEERS_VENV", cache / "stoker" / "peers")) / "bin" / "python"
    return os.environ.get("STOKER_PEER_PYTHON") or (str(venv) if venv.exists() else "python3")


class Contender:
    """A process that makes steps on request; stopped while others have their turn."""

    def __init__(self, name: str, command: list[str], cpu_time: bool) -> None:
        self.name, self.cpu_time = name, cpu_time
        if cpu_time:
            command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.steps, self.floor, self.missing = 1, 0.0, ""
        self.seconds: list[float] = []  # per step, by round
        try:
            self.floor = self._read("ready").get("floor", 0.0)
            self._stop()
        except RuntimeError as error:
            self.missing = str(error)

    def _read(self, key: str) -> dict:
        for line in self.process.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                continue  # what libraries print
            if isinstance(answer, dict) and key in answer:
                return answer
        self.process.wait()
        errors = self.process.stderr.read().strip().splitlines()
        raise RuntimeError(errors[-1] if errors else f"exit status {self.process.returncode}")

    def _stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def block(self, steps: int) -> float:
        """Seconds per step."""
        self.process.send_signal(signal.SIGCONT)
        before = self._cpu_seconds()
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        seconds = self._read("seconds")["seconds"]
        if self.cpu_time:
            seconds = self._cpu_seconds() - before
        self._stop()
        return seconds / steps

    def _cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def settle(self, target: float) -> None:
        self.block(1)
        self.steps = max(1, min(500, round(target / self.block(1))))

    def close(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


def zoo_rows(options: argparse.Namespace) -> list[tuple[str, dict[str, list[str]]]]:
    here, python = ROOT / "bench" / "zoo", peer_python()
    rows = []
    for name, batch in re.findall(r'\{"(\w+)", \w+, \d+, (\d+)', (here / "networks.cpp").read_text()):
        commands = {
            "Stoker": [str(options.build / "bin" / "bench_zoo"), "--device", "cpu", "--serve", name,
                       *([] if options.cpu_time else ["--floor"])],
            "PyTorch": [python, str(here / "peer.py"), "--device", "cpu", "--serve", f"{name}:{batch}"],
            "Keras": [python, str(here / "keras_peer.py"), "--serve", f"{name}:{batch}"],
        }
        rows.append((f"{name} b{batch}", commands))
    return rows


def sequence_rows(options: argparse.Namespace) -> list[tuple[str, dict[str, list[str]]]]:
    here, python = ROOT / "bench" / "sequences", peer_python()
    rows = []
    for name in SEQUENCES + TRANSFORMERS:
        script = "peer.py" if name in SEQUENCES else "transformers_peer.py"
        commands = {"Stoker": [str(options.build / "bin" / "bench_sequences"), "--device", "cpu", "--serve", name]}
        for peer in ("PyTorch", "Keras"):
            if peer == "PyTorch" or not name.startswith("generate"):
                commands[peer] = [python, str(here / script), "--serve", name, peer]
        rows.append((name, commands))
    return rows


def measure(name: str, commands: dict[str, list[str]], options: argparse.Namespace) -> dict:
    contenders = []
    for peer, command in commands.items():
        if peer == "Keras" and options.no_keras:
            continue
        contenders.append(Contender(peer, command, options.cpu_time))
    present = [each for each in contenders if not each.missing]
    try:
        for each in present:
            each.settle(options.seconds)
        for turn in range(options.rounds):
            order = present[turn % len(present):] + present[: turn % len(present)]
            for each in order:
                each.seconds.append(each.block(each.steps))
    finally:
        for each in contenders:
            each.close()
    return row_of(name, contenders)


def row_of(name: str, contenders: list[Contender]) -> dict:
    row: dict = {"name": name, "unit": "ms per step", "bar": next((bar for word, bar in BARS.items() if name.startswith(word)), 1.3)}
    for each in contenders:
        row[each.name] = {"missing": each.missing} if each.missing else {
            "median": 1e3 * statistics.median(each.seconds), "samples": [float(f"{1e3 * s:.5g}") for s in each.seconds],
            "steps": each.steps}
    ours = next(each for each in contenders if each.name == "Stoker")
    peers = [each for each in contenders if each is not ours and not each.missing]
    if ours.missing or not peers:
        return row
    best = min(peers, key=lambda each: statistics.median(each.seconds))
    ratios = [theirs / mine for theirs, mine in zip(best.seconds, ours.seconds)]
    row |= {"best": best.name, "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    if ours.floor > 0:
        row["floor_share"] = ours.floor / statistics.median(ours.seconds)
    return row


def line_of(row: dict) -> str:
    times = ", ".join(f"{peer} {row[peer]['median']:.1f} ms" if "median" in row[peer] else f"{peer} missing ({row[peer]['missing'][:60]})"
                      for peer in ("Stoker", "PyTorch", "Keras") if peer in row)
    if "ratio" not in row:
        return f"{row['name']}: {times}"
    floor = f", {100 * row['floor_share']:.0f} % of the floor" if "floor_share" in row else ""
    met = row["ratio"] >= row["bar"] or row.get("floor_share", 0) >= 0.8 and row["ratio"] >= 1
    return (f"{row['ratio']:5.2f}x ({row['least']:.2f}-{row['most']:.2f}) of {row['bar']} {'met   ' if met else 'NOT MET'} "
            f"{row['name']}: {times}{floor}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["zoo", "sequences"], default=[])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--only", default="", help="rows whose name contains one of these words, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a block, about")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--cpu-time", action="store_true", help="CPU seconds on one core instead of the clock's on all")
    parser.add_argument("--no-keras", action="store_true")
    parser.add_argument("--results", action="store_true", help="write bench/results/*-cpu-DATE.json")
    options = parser.parse_args()
    options.build = options.build.resolve()
    kinds = {"zoo": zoo_rows, "sequences": sequence_rows}
    everything = []
    for kind in options.what or list(kinds):
        rows = []
        for name, commands in kinds[kind](options):
            if not any(word in name for word in options.only.split(",")):
                continue
            rows.append(measure(name, commands, options))
            print(line_of(rows[-1]), flush=True)
        rows.sort(key=lambda row: row.get("ratio", 0) / row["bar"])
        result = {"date": datetime.date.today().isoformat(), "machine": machine.describe(), "rounds": options.rounds,
                  "clock": "CPU seconds on one core" if options.cpu_time else "wall", "rows": rows}
        if options.results:
            (ROOT / "bench" / "results" / f"{kind}-cpu-{result['date']}.json").write_text(json.dumps(result, indent=1) + "\n")
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")
        everything += rows
    print("\nworst first")
    for row in sorted(everything, key=lambda row: row.get("ratio", 0) / row["bar"]):
        print(line_of(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
