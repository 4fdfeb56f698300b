#!/usr/bin/env python3
"""check_examples.py [FOLDER]: an idea takes little more code than in Keras.

A program in a topic folder of examples/ marks the code of its idea:
    // Idea: 13 lines in Keras.
    ...
    // Data:
    ...
    // Idea:
    ...
    // Shown:
Between the first mark and the last it may have 1.3 times as many lines of code as it says. What draws data stands before the
first mark or between the two in the middle, which where needed also enclose the beginning of main(). What measures and prints
follows the last one, or is in examples/measure.h. Twenty programs stand in Keras too, tests/keras_programs/NAME.py, between
"# Idea" and "# Shown", data before: for them the number has to be that of the file. Blank lines, comments, includes and
imports do not count.

Prints a table; fails where a program has too many lines, no marks, or a number that is not its twin's.
    --markdown    the twenty programs as a table for a page
"""
import pathlib
import re
import sys

LIMIT = 1.3
ROOT = pathlib.Path(__file__).resolve().parent.parent
TWINS = ROOT / "tests/keras_programs"


def code_lines(text: str, comment: str, skipped: str) -> int:
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith(comment) and not re.match(skipped, line))


def keras_lines(name: str):
    """Of the twin; None: there is none."""
    path = TWINS / f"{name}.py"
    if not path.exists():
        return None
    found = re.search(r"^# Idea\n(.*?)^# Shown", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if not found:
        sys.exit(f"{path}: no '# Idea' … '# Shown'")
    return code_lines(found[1], "#", r"(import|from) ")


class Program:
    def __init__(self, path: pathlib.Path):
        self.name, self.path, self.problem = path.stem, path, ""
        found = re.search(r"// Idea: (\d+) lines? in Keras\.\n(.*?)// Shown:", path.read_text(encoding="utf-8"), re.DOTALL)
        if not found:
            self.problem = "no '// Idea: N lines in Keras.' … '// Shown:'"
            return
        idea = re.sub(r"// Data:\n.*?// Idea:\n", "", found[2], flags=re.DOTALL)
        self.said, self.lines = int(found[1]), code_lines(idea, "//", r"#include")
        self.measured = keras_lines(path.stem)
        if self.measured is not None and self.measured != self.said:
            self.problem = f"says {self.said} lines in Keras, but tests/keras_programs/{path.stem}.py has {self.measured}"
        elif self.ratio() > LIMIT:
            self.problem = f"more than {LIMIT} times"

    def ratio(self):
        return self.lines / (self.measured or self.said)

    def row(self):
        return f"{self.name} | {self.lines} | {self.measured or self.said} | {self.ratio():.2f}"


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    folder = pathlib.Path(words[0]) if words else ROOT / "examples"
    programs = [Program(path) for path in sorted(folder.glob("*/*.cpp"))]
    twins = [each for each in programs if getattr(each, "measured", None)]
    if "--markdown" in sys.argv:
        print("| program | lines here | in Keras | ratio |\n|---|---|---|---|")
        for program in twins:
            print(f"| {program.row()} |")
        return 0
    for program in programs:
        about = program.problem or ("counted" if program.measured else "as it says")
        print(f"{program.row() if hasattr(program, 'lines') else program.path} | {about}")
    for lost in {path.stem for path in TWINS.glob("*.py")} - {each.name for each in twins}:
        print(f"tests/keras_programs/{lost}.py: no example of that name")
        return 1
    return 0 if programs and not any(program.problem for program in programs) else 1


if __name__ == "__main__":
    sys.exit(main())
