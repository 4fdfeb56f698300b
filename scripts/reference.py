#!/usr/bin/env python3
"""Writes docs/reference: one page per public header, from the headers and the field tables.

    scripts/reference.py --fields PROGRAM [--check] [ROOT]

What a page says stands in the header: its opening comment, the comment of every declaration, the options with their
defaults. PROGRAM (list_fields) prints what the tables know beside that, as JSON: what a value may be. Counterparts in
Keras stand in scripts/keras_names.txt. Text above the mark "<!-- generated" of a page is written by hand, and kept.
With --check nothing is written, and pages that differ are listed; exits with 1 if there are any.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import keras_az
from header_reader import fields_of, read_headers

MARK = "<!-- generated"
MARK_LINE = MARK + " from include/stoker/{header} by scripts/reference.py: `make reference` -->"


# --- counterparts in Keras ------------------------------------------------------------------------


class Counterparts:
    """scripts/keras_names.txt: "HEADER = PREFIX" for all names of a header, "HEADER NAME = WHAT" for one."""

    def __init__(self, path):
        self.prefixes, self.names = {}, {}
        for line in path.read_text(encoding="utf-8").splitlines():
            line = line.split("#")[0].strip()
            if not line:
                continue
            left, right = (part.strip() for part in line.split("=", 1))
            header, _, name = left.partition(" ")
            if name:
                self.names[header, name.strip()] = right
            else:
                self.prefixes[header] = right

    def of(self, header, name):
        """The counterpart of a name; "": there is none."""
        if (header, name) in self.names:
            return self.names[header, name].strip("-")
        return f"{self.prefixes[header]}.{name}" if header in self.prefixes else ""

    def has_options(self, header, struct):
        """Whether a struct's options are those of something in Keras."""
        return header in self.prefixes or (header, struct) in self.names

    def option(self, header, struct, option):
        return self.names.get((header, f"{struct}.{option}"), option).strip("-")


# --- writing pages --------------------------------------------------------------------------------


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ").strip()


def code_cell(text):
    return f"`{cell(text)}`" if text else ""


def prose(lines):
    """Comment lines as Markdown: what is indented is code, the rest are paragraphs."""
    out, code = [], []

    def end_code():
        while code and not code[-1].strip():
            code.pop()
        if code:
            out.extend(["", "```c++", *code, "```", ""])
        code.clear()

    for line in lines:
        if line.startswith("  ") or (code and not line.strip()):
            code.append(line[2:] if line.startswith("  ") else "")
        else:
            end_code()
            out.append(re.sub(r"(?<![`\w])<(?=\w)", "&lt;", line.rstrip()))
    end_code()
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()
    return text


class Page:
    def __init__(self, header, tables, counterparts):
        self.header, self.tables, self.counterparts = header, tables, counterparts

    def text(self):
        parts = []
        for entry in self.header.entries:
            if entry.kind == "section":
                parts.append(f"## {entry.name[:1].upper()}{entry.name[1:]}")
            elif entry.kind == "text":
                parts.append(prose(entry.comment))
            elif entry.name:
                parts.append(self.declaration(entry))
        return "\n\n".join(part for part in parts if part) + "\n"

    def declaration(self, entry):
        parts = [f"### {entry.name}"]
        parts.append(prose(entry.comment))
        fields = fields_of(entry) if entry.is_struct() else None
        counterpart = self.counterparts.of(self.header.name, entry.name)
        listed = (self.header.name, entry.name) in self.counterparts.names
        if counterpart and (listed or not fields):
            peer = "Keras" if counterpart.startswith("keras") else "Elsewhere"
            parts.append(f"{peer}: `{counterpart}`")
        if fields:
            parts.append(self.options(entry, fields))
        else:
            parts.append(self.arguments(entry))
            parts.append("```c++\n" + self.public_part(entry) + "\n```")
        return "\n\n".join(part for part in parts if part)

    @staticmethod
    def public_part(entry):
        """The declaration without what is private."""
        out, private = [], False
        for line in entry.lines:
            if re.match(r"^ (private|protected|public):", line):
                private = "private" in line
            if not private or line.startswith("}"):
                if not re.match(r"^ public:", line):
                    out.append(line)
        while len(out) > 1 and not out[-2].strip():
            del out[-2]
        return "\n".join(out)

    def rows_for(self, struct):
        """What the tables say of a struct's options: that of the first kind that takes it."""
        if struct in self.tables:
            return self.tables[struct]
        for entry in self.header.declarations():
            if entry.options_struct() == struct and entry.name in self.tables:
                return self.tables[entry.name]
        return {}

    def options(self, entry, fields):
        rows = self.rows_for(entry.name)
        keras = self.counterparts.has_options(self.header.name, entry.name)
        word = "option" if rows or keras or entry.name.endswith("Options") else "member"
        head = [word, "type", "default", "may be", "meaning"] + (["Keras"] if keras else [])
        if not any(rows.get(name, {}).get("expected") for _, name, _, _ in fields):
            head.remove("may be")
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for type_, name, fallback, meaning in fields:
            cells = {
                word: f"`.{name}`",
                "type": code_cell(type_),
                "default": code_cell(fallback),
                "may be": cell(rows.get(name, {}).get("expected", "")),
                "meaning": cell(meaning),
                "Keras": code_cell(self.counterparts.option(self.header.name, entry.name, name)),
            }
            lines.append("| " + " | ".join(cells[column] for column in head) + " |")
        return "\n".join(lines)

    def arguments(self, entry):
        """What the table says of arguments beside the option struct."""
        rows = self.tables.get(entry.name, {})
        known = [(n, f, rows[n]["expected"]) for _, n, f in entry.parameters() if n in rows and rows[n]["expected"]]
        if not known:
            return ""
        lines = ["| argument | default | may be |", "|---|---|---|"]
        lines += [f"| `{name}` | {code_cell(fallback)} | {cell(expected)} |" for name, fallback, expected in known]
        return "\n".join(lines)


def page_name(header):
    return header.replace("/", "_").removesuffix(".h") + ".md"


def by_hand(path):
    """What stands above the mark; "": nothing does. A page without a mark is all by hand."""
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8")
    return text.split(MARK)[0].rstrip()


def pages_of(root, tables):
    """Path to text, of every page."""
    folder = root / "docs/reference"
    counterparts = Counterparts(root / "scripts/keras_names.txt")
    pages, headers = {}, read_headers(root)
    for header in headers:
        name = header.name
        page = folder / page_name(name)
        above = by_hand(page)
        mark = MARK_LINE.format(header=name)
        if above:
            text = f"{above}\n\n{mark}\n\n# Declarations of `<stoker/{name}>`\n\n{prose(header.contract)}\n"
        else:
            text = f"{mark}\n\n# `<stoker/{name}>`\n\n{prose(header.contract)}\n"
        pages[page] = text + "\n" + Page(header, tables, counterparts).text()
    pages[folder / "README.md"] = index(folder, headers)
    rows = keras_az.rows_of(root, headers, page_name, counterparts)
    pages[folder / keras_az.PAGE] = keras_az.page(rows, MARK + " by scripts/keras_az.py: `make reference` -->")
    return pages


def index(folder, headers):
    lines = [
        MARK + " by scripts/reference.py: `make reference` -->",
        "",
        "# Reference",
        "",
        "One page per public header, made from its comments and the option tables; `#include <stoker/stoker.h>` has them all.",
        "Beside them, by hand: [training.md](training.md), what fit, evaluate and predict do and take.",
        f"[Keras to Stoker, A–Z]({keras_az.PAGE}) has every name of Keras and tf.data, with what it is called here.",
        "",
        "| header | what it holds |",
        "|---|---|",
    ]
    for header in headers:
        lines.append(f"| [`{header.name}`]({page_name(header.name)}) | {cell(header.summary())} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fields", help="the program list_fields, or a file with what it printed")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parent.parent, type=Path)
    args = parser.parse_args()
    tables = {}
    if args.fields:
        path = Path(args.fields)
        text = path.read_text() if path.suffix == ".json" else subprocess.run([path], check=True, capture_output=True, text=True).stdout
        tables = json.loads(text)
    pages = pages_of(args.root, tables)
    changed = [p for p, text in pages.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    for page in changed:
        if args.check:
            print(f"{page.relative_to(args.root)} is not what its header says; run: make reference")
        else:
            page.write_text(pages[page], encoding="utf-8")
    print(f"reference: {len(pages)} pages, {len(changed)} {'differ' if args.check else 'written'}")
    return 1 if args.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
