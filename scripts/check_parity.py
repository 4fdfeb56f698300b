#!/usr/bin/env python3
"""Lists the names of Keras that have a counterpart here and no record in tests/parity.

    scripts/check_parity.py         exit status 1 where a name has neither a record nor a reason
    scripts/check_parity.py --all   also those with a reason

A name has a record where a recorder of Keras (tests/parity/keras_*.py) uses it, or the name that scripts/keras_az.txt
says is the same. scripts/keras_unrecorded.txt has reasons for the others, "MODULE.NAME : why", * stands for anything.
"""

import ast
import fnmatch
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = [
    f"keras.{name}"
    for name in (
        "layers losses metrics optimizers optimizers.schedules initializers regularizers constraints activations ops ops.image"
    ).split()
]


def words_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value)


def recorded_words(root):
    words = set()
    for path in [*(root / "tests/parity").glob("keras_*.py"), root / "tests/parity/record_schedules.py"]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):  # what a docstring tells is no record
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
                node.body = node.body[1:]
        words.update(words_of(tree))
    return words


def plain(name):
    return name.replace("_", "").lower()


def lines_of(path, marks):
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.match(rf"^([\w.*]+)\s*([{marks}])\s*(.*)$", line):
            yield match.groups()


def main():
    words = recorded_words(ROOT)
    loose = {plain(word) for word in words}
    elsewhere = list(lines_of(ROOT / "scripts/keras_az.txt", "=:"))
    reasons = list(lines_of(ROOT / "scripts/keras_unrecorded.txt", ":"))
    used, bad = set(), 0
    for line in (ROOT / "scripts/keras_api.txt").read_text(encoding="utf-8").splitlines():
        module, _, names = line.partition(": ")
        if module not in MODULES:
            continue
        for name in names.split():
            full = f"{module}.{name}"
            known = name in words or (module not in ("keras.ops", "keras.ops.image") and plain(name) in loose)
            for pattern, mark, text in elsewhere:
                if fnmatch.fnmatchcase(full, pattern):
                    known = known or mark == ":" or not re.fullmatch(r"[\w:]+", text) or text.split("::")[-1] in words
            if known:
                continue
            why = next(((pattern, text) for pattern, _, text in reasons if fnmatch.fnmatchcase(full, pattern)), None)
            if why is None:
                print(f"{full}: no record in tests/parity and no reason in scripts/keras_unrecorded.txt")
                bad += 1
                continue
            used.add(why[0])
            if "--all" in sys.argv:
                print(f"{full}: {why[1]}")
    for pattern, _, _ in reasons:
        if pattern not in used:
            print(f"{pattern}: a reason that no name needs any more")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
