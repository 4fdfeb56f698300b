#!/usr/bin/env python3
"""Random kills with resume, and every parser's fuzzer, for as long as one likes; the totals accumulate.

    campaign.py [--seconds 600] [--only kills,idx,…] [--result bench/results/campaign.json] [--build build/release]
                [--jobs 1] [--built] [--commit NAME]

--jobs runs so many parts side by side. --built takes the programs as they lie (build/release, build/fuzz), for a machine
without compilers; --commit names what they were built of, where there is no repository to ask.

--seconds is for each: every source of the kills (slices, arrays, pictures, tfrecord) and every fuzzer. A campaign can be
stopped at any moment and started again: each run takes a new seed, fuzzers keep their corpus (build/fuzz/corpus), and every
part that has ended is in the result file. Exit status 1 with the first failure, whose address it prints.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ["slices", "arrays", "pictures", "tfrecord"]


def run(command, **environment):
    """Standard output and error of a command; exits with it where it fails."""
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
    if ended.returncode != 0:
        sys.exit(f"{ended.stdout}\ncampaign: failed: {' '.join(map(str, command))}")
    return ended.stdout


class Totals:
    """The result file: one entry per part that ran, and the sums over all of them."""

    def __init__(self, path, commit):
        self.path = path
        self.commit = commit
        self.lock = threading.Lock()
        self.state = json.loads(path.read_text()) if path.exists() else {"command": "make campaign", "totals": {}, "runs": []}

    def add(self, part, counts, seconds):
        with self.lock:
            self.state["runs"].append({"date": datetime.date.today().isoformat(), "commit": self.commit, "processor": processor(),
                                       "part": part, "seconds": seconds, **counts})
            sums = self.state["totals"].setdefault(part, {})
            for name, count in counts.items():
                sums[name] = sums.get(name, 0) + count
            unfinished = self.path.with_suffix(".tmp")
            unfinished.write_text(json.dumps(self.state, indent=1) + "\n")
            unfinished.replace(self.path)
            print(f"campaign: {part}: {counts}; in all {sums}", flush=True)


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def kills(source, seed, build, seconds, totals):
    text = run([build / "bin/test_fault_slow_kills", f"--gtest_filter=*/{source}"],
               STOKER_CAMPAIGN_SECONDS=str(seconds), STOKER_CAMPAIGN_SEED=str(seed))
    line = re.search(rf"^kills: {source}, (.*)$", text, re.MULTILINE)
    if line is None:
        sys.exit(f"{text}\ncampaign: no kills were counted")
    counts = {name: int(number) for name, number in re.findall(r"([a-z ]+?) (\d+)", line.group(1).replace(", ", ";"))}
    totals.add(f"kills/{source}", counts, seconds)


def fuzz(name, seconds, totals):
    text = run(["scripts/fuzz.sh"], FUZZ_SECONDS=str(seconds), FUZZ_ONLY=name, FUZZ_BUILT="1")
    runs = re.search(rf"^fuzz: {name} +(\d+) runs", text, re.MULTILINE)
    if runs is None:
        sys.exit(f"{text}\ncampaign: {name} ran nothing")
    totals.add(f"fuzz/{name}", {"runs": int(runs.group(1))}, seconds)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=int, default=600)
    options.add_argument("--only", default="")
    options.add_argument("--result", type=Path, default=ROOT / "bench/results/campaign.json")
    options.add_argument("--build", type=Path, default=ROOT / "build/release")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--built", action="store_true")
    options.add_argument("--commit")
    given = options.parse_args()
    fuzzers = sorted(path.stem.removeprefix("fuzz_") for path in (ROOT / "tests/fuzz").glob("fuzz_*.cpp"))
    only = set(filter(None, given.only.split(",")))
    if unknown := only - {"kills", *fuzzers}:
        sys.exit(f"campaign: no part is named {', '.join(sorted(unknown))}; there are kills, {', '.join(fuzzers)}")
    totals = Totals(given.result, given.commit or run(["git", "rev-parse", "--short", "HEAD"]).strip())
    seed = 1000 + len(totals.state["runs"])
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        parts = []
        if not only or "kills" in only:
            given.built or run(["cmake", "--build", given.build, "--target", "test_fault_slow_kills"])
            parts += [pool.submit(kills, source, seed + i, given.build.resolve(), given.seconds, totals)
                      for i, source in enumerate(SOURCES)]
        wanted = [name for name in fuzzers if not only or name in only]
        if wanted and not given.built:
            run(["scripts/fuzz.sh"], FUZZ_ONLY=" ".join(wanted), FUZZ_SECONDS="0")
        parts += [pool.submit(fuzz, name, given.seconds, totals) for name in wanted]
        for part in concurrent.futures.as_completed(parts):
            part.result()


main()
