#!/usr/bin/env python3
"""Checks that vector code cannot leak out of its instruction set.

    check_isa_symbols.py NM avx2 OBJECT... avx512 OBJECT...

The files of src/engine/cpu/isa are compiled once per instruction set. Of an inline function or template that several
objects contain, the linker keeps any one copy: if it keeps the AVX-512 one, the program dies on a host without AVX-512 in
code that has nothing to do with vectors. So every function these objects share with others (weak) or offer to them (global)
must carry the name of its instruction set: in practice, live in a namespace named STOKER_ISA and call nothing from the
standard library that is not inlined away.
"""

import subprocess
import sys

ISAS = ("generic", "avx2", "avx512")


def leaks(nm, isa, path):
    lines = subprocess.run([nm, "-C", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        _, kind, name = line.split(" ", 2)
        if kind in "WT" and isa not in name:  # code, weak or global
            yield name


def main():
    nm, *words = sys.argv[1:]
    isa, count, bad = None, 0, 0
    for word in words:
        if word in ISAS:
            isa = word
            continue
        count += 1
        for name in leaks(nm, isa, word):
            print(f"{word}: {name} is compiled for {isa} but not named so; another file's copy may be replaced by it")
            bad += 1
    print(f"vector kernels: {count} objects, {bad} leaks")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
