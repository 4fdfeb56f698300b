#!/usr/bin/env python3
"""Whether the doctor can say where the time went, on every example that fits a model.

  scripts/check_accounting.py BUILD [--json FILE] [--only NAME] [--repeat 3]

Runs the programs BUILD/bin/example_* as they are, each in an empty folder, with STOKER_RUN_DIRECTORY set, so that each of
their fits leaves a doctor.json. Of each the table shows two shares that nobody accounts for: of the steps, and of the whole
fit, which is everything between its callbacks' first and last turn. The bar is 3 % for both. A busy machine can disturb a
fit of some milliseconds: one above the bar is run again, and its best round counts; the others are told. So this is no test
of ctest, but needs a machine without much else on it. Ends with 1 when a bar is missed or an example fails.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BAR = 0.03


def fits_of(program):
    """The doctor.json of every fit of a program, in the order of the fits; exit status 77: it could not show all of it."""
    with tempfile.TemporaryDirectory() as folder:
        runs = pathlib.Path(folder) / "runs"
        work = pathlib.Path(folder) / "work"
        work.mkdir()
        done = subprocess.run(
            [program], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env=os.environ | {"STOKER_RUN_DIRECTORY": str(runs)})
        if done.returncode not in (0, 77):
            sys.exit(f"{program.name} ended with {done.returncode}:\n{done.stdout[-2000:]}")
        files = sorted(runs.glob("fit-*/doctor.json"), key=lambda file: int(file.parent.name.split("-")[1]))
        return [json.loads(file.read_text()) for file in files]


def row_of(name, number, fit):
    return {
        "name": f"{name}, fit {number}",
        "steps": fit["steps"],
        "step_seconds": fit["step_seconds"],
        "unexplained_of_steps": fit["shares"]["unexplained"],
        "looking_on_of_steps": fit["looked_seconds"] / fit["step_seconds"],
        "fit_seconds": fit["fit"]["seconds"],
        "steps_of_fit": fit["fit"]["steps"],
        "unexplained_of_fit": fit["fit"]["unexplained"],
    }


def worst(row):
    return max(row["unexplained_of_steps"], row["unexplained_of_fit"])


def measured(program, repeat):
    """One row a fit: the first round where all are below the bar, else the best of each; how many rounds it took."""
    name, rows = program.name.removeprefix("example_"), []
    for round_ in range(1, repeat + 1):
        now = [row_of(name, number + 1, fit) for number, fit in enumerate(fits_of(program))]
        rows = now if len(now) != len(rows) else [min(pair, key=worst) for pair in zip(rows, now)]
        if all(worst(row) <= BAR for row in rows):
            break
    for row in rows:
        row["rounds"] = round_
        row["met"] = worst(row) <= BAR
    return rows


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("--json", type=pathlib.Path)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    programs = sorted(file for file in (options.build / "bin").resolve().glob("example_*") if options.only in file.name)
    if not programs:
        sys.exit(f"no example is named so in {options.build}/bin")
    rows, none = [], []
    print(f"{'fit':<42} {'steps':>6} {'a step':>10} {'unexplained':>12} {'looking on':>11} "
          f"{'the fit':>9} {'steps':>7} {'unexplained':>12}")
    for program in programs:
        found = measured(program, options.repeat)
        if not found:
            none.append(program.name.removeprefix("example_"))
        for row in found:
            print(f"{row['name']:<42} {row['steps']:>6} {1e3 * row['step_seconds']:>7.3f} ms {row['unexplained_of_steps']:>12.2%} "
                  f"{row['looking_on_of_steps']:>11.2%} {row['fit_seconds']:>7.2f} s {row['steps_of_fit']:>7.1%} "
                  f"{row['unexplained_of_fit']:>12.2%}{'' if row['met'] else '  MISSED'}"
                  f"{'' if row['rounds'] == 1 else '  (best of %d)' % row['rounds']}", flush=True)
        rows += found
    missed = [row["name"] for row in rows if not row["met"]]
    print(f"\n{len(rows)} fits of {len(programs) - len(none)} programs, {len(missed)} above {BAR:.0%}; "
          f"no fit of more than ten steps: {', '.join(none) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
