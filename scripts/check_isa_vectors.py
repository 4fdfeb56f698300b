#!/usr/bin/env python3
"""Checks that loops over elements became vectors.

    check_isa_vectors.py OBJDUMP OBJECT...

A `?:` in a formula is enough for a compiler to put a branch into a loop, which then computes one element at a time: a tenth
of the speed, with the same results. The objects are those compiled for AVX-512, where a function without a 512-bit register
is such a one. Functions of the C library's are known to be.
"""

import re
import subprocess
import sys

LOOPS = re.compile(r"::(unary|unary_grad|binary|binary_scalar_[ab])<")
LIBRARY = re.compile(r"::(Sin|Cos|Pow|Mod|FloorDiv)>")


def functions(objdump, path):
    """(name, code) of every function in an object."""
    text = subprocess.run([objdump, "-dC", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    for part in re.split(r"\n(?=[0-9a-f]+ <)", text):
        head, _, code = part.partition("\n")
        found = re.match(r"[0-9a-f]+ <(.*)>:", head)
        if found:
            yield found.group(1), code


def main():
    objdump, *objects = sys.argv[1:]
    loops = scalar = 0
    for path in objects:
        for name, code in functions(objdump, path):
            if not LOOPS.search(name) or LIBRARY.search(name) or "add_" in name:
                continue
            loops += 1
            if "zmm" not in code:
                print(f"{path}: {name} computes one element at a time")
                scalar += 1
    print(f"loops over elements: {loops}, not in vectors: {scalar}")
    return 1 if scalar or not loops else 0


if __name__ == "__main__":
    sys.exit(main())
