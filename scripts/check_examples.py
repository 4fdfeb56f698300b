#!/usr/bin/env python3
"""check_examples.py [FOLDER]: an idea takes little more code than in Keras.

A program in a topic folder of examples/ marks the code of its idea:
    // Idea: 13 lines in Keras.
    ...
    // Shown:
Between the two marks it may have 1.3 times as many lines of code as it says; blank lines and comments do not count. What
measures and prints follows the second mark, or is in examples/measure.h. Prints each file's counts; fails where one has
too many lines or no marks.
"""
import pathlib
import re
import sys


def code_lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def check(path: pathlib.Path) -> bool:
    found = re.search(r"// Idea: (\d+) lines? in Keras\.\n(.*?)// Shown:", path.read_text(encoding="utf-8"), re.DOTALL)
    if not found:
        print(f"{path}: no '// Idea: N lines in Keras.' … '// Shown:'")
        return False
    keras, lines = int(found[1]), code_lines(found[2])
    fits = lines <= 1.3 * keras
    print(f"{path}: {lines} lines, {keras} in Keras{'' if fits else ': more than 1.3 times'}")
    return fits


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "examples")
    programs = sorted(folder.glob("*/*.cpp"))
    results = [check(program) for program in programs]
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
