#!/usr/bin/env python3
"""The same work in Stoker, Keras, tf.data, PyTorch, libtorch and Grain, side by side in one run (`make peers`).

    peers.py [--quick | --smoke] [--only b/cnn64,d] [--mnist DIR] [--photos DIR] [--build build/release] [--threads N]
             [--lock FILE] [--out DIR]

The full run takes about an hour on two cores and writes bench/results/peers-DATE.json and docs/performance.md; --quick takes
some minutes and writes both under build/peers; --smoke only shows that everything runs. Rows that --only leaves out are
taken from the newest result of the same machine. On a machine with other work, --lock FILE holds that file's lock
exclusively (flock) while a row is measured and lets it go between rows: others do their work under its shared lock.
--report only writes the page again, for example after an edit of notes.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

from harness import machine, report, sections, systems, workloads  # noqa: E402
from harness.bench import Bench  # noqa: E402
from harness.quiet import Quiet  # noqa: E402
from harness.rows import Row, Settings  # noqa: E402
from harness.start_size_build import start_size_build  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"


def say(text: str) -> None:
    print(f"peers: {text}", flush=True)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--quick", dest="mode", action="store_const", const="quick", default="full",
                      help="some minutes instead of half an hour")
    mode.add_argument("--smoke", dest="mode", action="store_const", const="smoke", help="each row once: figures mean nothing")
    parser.add_argument("--only", default="a,b,c,d", help="sections or workloads, for example a,b/cnn64,b/mlp/32,d/start")
    parser.add_argument("--mnist", type=Path, help="folder with the IDX files of MNIST (default: drawn digits)")
    parser.add_argument("--photos", type=Path, help="folder with .jpg files (default: painted ones)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--threads", type=int, default=machine.usable_cores())
    parser.add_argument("--lock", type=Path, help="a file whose lock is held while a row is measured")
    parser.add_argument("--pause", type=float, default=60.0, help="seconds between two rows under --lock (default 60)")
    parser.add_argument("--out", type=Path, help="where results go instead")
    parser.add_argument("--publish", action="store_true", help="a quick run too goes to bench/results and docs")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the page from the newest result")
    return parser.parse_args(arguments)


def prepare_data(options: argparse.Namespace, found: Mapping[str, systems.System]) -> Path:
    """The files every system reads, made once for each choice of sources."""
    kinds = ("given" if options.mnist else "drawn") + "-" + ("given" if options.photos else "painted")
    folder = systems.cache_dir() / "peers-data" / kinds
    command_tail = [str(systems.WORKERS / "make_data.py"), str(folder)]
    for name in ("mnist", "photos"):
        value = getattr(options, name)
        if value:
            command_tail += [f"--{name}", str(value.resolve())]
    for python in dict.fromkeys(system.python for system in found.values() if system.python):
        done = subprocess.run([python, *command_tail], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return folder
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    sys.exit(f"peers: the data could not be made (numpy and Pillow are needed): {reason}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    asked = workloads.Asked(options.only.split(","))
    unknown = asked.unknown()
    if unknown:
        sys.exit(f"peers: nothing is called {', '.join(unknown)}; there are {', '.join(workloads.WORKLOADS)}")
    work = systems.cache_dir() / "peers-work"
    sections.clear_work(work)
    say("looking for peers")
    found = systems.discover(options.build.resolve(), work)
    for system in found.values():
        say(f"  {system.label}: {'here' if system.present else 'missing: ' + system.missing}")
    settings = Settings.make(options.mode, options.threads)
    data = prepare_data(options, found)
    quiet = Quiet(options.lock, options.pause)
    bench = Bench(found, settings, data, work, options.build.resolve(), say, asked, quiet)
    say("limits of the machine")
    with quiet:
        limits = sections.limits(bench)
    rows: list[Row] = []
    if asked.any("a"):
        rows += sections.pipelines(bench)
    if asked.any("b"):
        rows += sections.steps(bench, max(limits["matmul_gflop_s"].values(), default=None))
    if asked.any("c"):
        rows += sections.fits(bench)
    if asked.any("d"):
        rows += start_size_build(bench)
    return {
        "date": datetime.date.today().isoformat(),
        "command": command_text(options),
        "machine": machine.describe(),
        "settings": settings.__dict__,
        "systems": {key: {"label": system.label, "version": system.version, "missing": system.missing,
                          "versions": system.details.get("versions", {})} for key, system in found.items()},
        "tools": systems.tools(),
        "limits": limits,
        "rows": [row.as_json() | ({"quick": True} if settings.quick else {}) for row in rows],
    }


def command_text(options: argparse.Namespace) -> str:
    """What to type for the same run."""
    words = ["make", "peers"]
    extra = ["--smoke"] if options.mode == "smoke" else []
    extra += [f"--only {options.only}"] if options.only != "a,b,c,d" else []
    extra += [f"--{name} DIR" for name in ("mnist", "photos") if getattr(options, name)]
    words += ["QUICK=1"] if options.mode == "quick" else []
    words += [f"PEERS=\"{' '.join(extra)}\""] if extra else []
    return " ".join(words)


def newest(folder: Path) -> dict[str, Any] | None:
    files = sorted(folder.glob("peers-*.json"))
    return json.loads(files[-1].read_text()) if files else None


def merge(results: dict[str, Any], earlier: Mapping[str, Any] | None) -> dict[str, Any]:
    """Rows that were not measured now stay as they were, if the machine is the same; the result names every command."""
    if earlier is None or any(earlier["machine"][name] != results["machine"][name] for name in ("cpu", "cores", "gpus")):
        return results
    measured = {row["id"] for row in results["rows"]}
    kept = [row for row in earlier["rows"] if row["id"] not in measured and workloads.is_row(row["id"])]
    if kept:
        before = [*earlier.get("earlier_commands", []), f"{earlier['date']}: {earlier['command']}"]
        results["earlier_commands"] = list(dict.fromkeys(before))
    # The page describes the full run; rows of a quick one say so themselves.
    if results["settings"]["quick"] and any(not row.get("quick") for row in kept):
        results["settings"] = earlier["settings"]
    results["rows"] = sorted(results["rows"] + kept, key=lambda row: workloads.order(row["id"]))
    return results


def write(results: Mapping[str, Any], folder: Path, page: Path) -> None:
    notes = report.parse_notes((systems.HERE / "notes.md").read_text())
    text = report.markdown(results, notes)
    folder.mkdir(parents=True, exist_ok=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    target = folder / f"peers-{results['date']}.json"
    target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    page.write_text(text)
    say(f"wrote {target} and {page}")


def update_readme(results: Mapping[str, Any]) -> None:
    readme = ROOT / "README.md"
    if readme.exists():
        before = readme.read_text()
        after = report.replace_between(before, "peers", report.readme_table(results))
        if after != before:
            readme.write_text(after)


def main() -> None:
    options = parse()
    aside = options.out or (ROOT / "build" / "peers" if options.mode != "full" and not options.publish else None)
    folder = aside or RESULTS
    page = aside / "performance.md" if aside else ROOT / "docs" / "performance.md"
    if options.report:
        results = newest(folder)
        if results is None:
            sys.exit(f"peers: no result in {folder}")
    else:
        results = measure(options)
        # Before anything can go wrong with the page: an hour of measuring is not thrown away.
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "last-run.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        results = merge(results, newest(folder))
    write(results, folder, page)
    (folder / "last-run.json").unlink(missing_ok=True)
    if not aside:
        update_readme(results)
    print(page.read_text())


if __name__ == "__main__":
    main()
