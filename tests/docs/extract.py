#!/usr/bin/env python3
"""Turns the ```cpp blocks of Markdown pages into C++ files, so that no page can show code that does not compile.

    extract.py OUT_DIR ROOT PAGE...

A block that contains "int main" becomes a program of its own, which the tests also run. All other blocks of a page become
functions of one file, which is only compiled: <stoker/stoker.h> and `using namespace stoker` are given, and includes are
hoisted. HTML comments directly before a block, invisible to the reader, say what the block needs:

    <!-- not compiled: reason -->      leave this block out
    <!-- compiled, not run: reason --> a program that would take too long, or needs files that are not there
    <!-- continues -->                 goes on in the scope of the block before
    <!-- given: Tensor x, y; -->       declarations that the text around the block has made
    <!-- file scope -->                functions or templates, which cannot stand inside a function

Files are written only when they change. OUT_DIR/manifest.txt lists them: "page FILE", "program FILE", "unrun FILE".
"""

import re
import sys
from pathlib import Path

FENCE = re.compile(r"^([ \t]*)```cpp[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
COMMENT_AT_END = re.compile(r"<!--((?:(?!-->).)*)-->\s*\Z", re.DOTALL)
INCLUDE = re.compile(r"^\s*#\s*include\b.*$", re.MULTILINE)


class Block:
    def __init__(self, page, text, match):
        self.page = page
        self.line = text.count("\n", 0, match.start()) + 2
        self.code = match.group(2)
        self.notes = []
        before = text[: match.start()]
        while found := COMMENT_AT_END.search(before):
            self.notes.insert(0, found.group(1).strip())
            before = before[: found.start()]
        self.is_program = re.search(r"\bint\s+main\s*\(", self.code) is not None

    def has(self, note):
        return any(n == note or n.startswith(note + ":") for n in self.notes)

    def given(self):
        return "\n".join(n[len("given:") :].strip() for n in self.notes if n.startswith("given:"))

    def located(self, code):
        """The code with a #line, so that the compiler's messages name the page."""
        return f'#line {self.line} "{self.page}"\n{code}'


def blocks_of(page, text):
    blocks = [Block(page, text, match) for match in FENCE.finditer(text)]
    return [b for b in blocks if not b.has("not compiled")]


def page_source(blocks):
    """One file for all fragments of a page."""
    includes, bodies = [], []
    for block in blocks:
        for line in INCLUDE.findall(block.code):
            if line.strip() not in includes:
                includes.append(line.strip())
        code = block.given() + "\n" + block.located(INCLUDE.sub("", block.code))
        if block.has("continues") and bodies:
            bodies[-1][1].append(code)
        else:
            bodies.append(("namespace" if block.has("file scope") else "function", [code]))
    parts = ["#include <stoker/stoker.h>", *includes, "using namespace stoker;"]
    for number, (kind, codes) in enumerate(bodies, 1):
        head = f"namespace block_{number} {{" if kind == "namespace" else f"[[maybe_unused]] static void block_{number}() {{"
        parts += [head, *codes, "}"]
    return "\n".join(parts) + "\n"


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def extract(out, root, pages):
    manifest = []
    for page in pages:
        stem = re.sub(r"[^A-Za-z0-9]+", "_", page.rsplit(".", 1)[0]).strip("_")
        blocks = blocks_of(page, (root / page).read_text(encoding="utf-8"))
        fragments = [b for b in blocks if not b.is_program]
        if fragments:
            write_if_changed(out / f"{stem}.cpp", page_source(fragments))
            manifest.append(f"page {stem}.cpp")
        for number, block in enumerate((b for b in blocks if b.is_program), 1):
            name = f"{stem}_{number}.cpp"
            write_if_changed(out / name, block.located(block.code))
            manifest.append(f"{'unrun' if block.has('compiled, not run') else 'program'} {name}")
    write_if_changed(out / "manifest.txt", "\n".join(manifest) + "\n")


if __name__ == "__main__":
    extract(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
