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

MARK = "<!-- generated"
MARK_LINE = MARK + " from include/stoker/{header} by scripts/reference.py: `make reference` -->"
SECTION = re.compile(r"^// --- (.*?)(?: -+)?$")
FORWARD = re.compile(r"^(?:friend )?(?:class|struct) \w+;")
NAMED = re.compile(r"^(?:enum class|enum|class|struct|concept)\s+(\w+)")


# --- reading headers ----------------------------------------------------------------------------


def code_of(line):
    """The line without its // comment."""
    quoted = False
    for at, char in enumerate(line):
        if char == '"' and line[at - 1] != "\\":
            quoted = not quoted
        if not quoted and line.startswith("//", at):
            return line[:at].rstrip()
    return line.rstrip()


def comment_of(line):
    """What stands behind // in the line; None: nothing does."""
    code = code_of(line)
    rest = line[len(code) :].strip()
    return rest[2:].strip() if rest.startswith("//") else None


def name_of(code):
    """The name that a declaration at namespace scope declares; None: none of its own."""
    code = re.sub(r"^template <.*?>(?=\s*(?:class|struct|using|inline|constexpr|concept|[A-Z\w:]+))", "", code, flags=re.S)
    code = re.sub(r"^\s*(?:requires .*?\n)?", "", code)
    if found := NAMED.match(code.strip()):
        return found.group(1)
    if found := re.match(r"using (\w+)\s*=", code.strip()):
        return found.group(1)
    head = code.split("(")[0]
    if "operator" in head or "(" in code and "=" in head:
        found = re.search(r"(operator.*)$", head.strip())
        if found and found.group(1) != "operator":
            return found.group(1).strip()
        return None if found else re.search(r"(\w+)\s*=", head).group(1)
    if "(" in code:
        found = re.search(r"(\w+)\s*$", head)
        return found.group(1) if found else None
    found = re.search(r"(\w+)\s*(?:=.*|\{.*)?;$", code.strip(), re.S)
    return found.group(1) if found else None


class Entry:
    """A declaration with its comment, a section, or free text."""

    def __init__(self, kind, name, comment=(), lines=()):
        self.kind, self.name, self.comment, self.lines = kind, name, list(comment), list(lines)

    @property
    def code(self):
        return "\n".join(self.lines)

    def is_struct(self):
        return re.match(r"struct \w+ \{", self.code) is not None

    def parameters(self):
        """Parameters of a function, or of the first constructor of a class: (type, name, default)."""
        code = "\n".join(code_of(line) for line in self.lines)
        found = re.search(r"\b%s\(" % re.escape(self.name or ""), code)
        if not found:
            return []
        inside, depth = "", 1
        for char in code[found.end() :]:
            depth += (char == "(") - (char == ")")
            if depth == 0:
                break
            inside += char
        return [parameter_of(part) for part in split(inside, ",") if part.strip()]

    def options_struct(self):
        for type_, name, _ in self.parameters():
            if name == "options" and (found := re.search(r"(\w+)&?$", type_)):
                return found.group(1)
        return None


def split(text, separator):
    """At separators that stand in no bracket."""
    parts, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        depth += char in "<({[" or 0
        depth -= char in ">)}]" or 0
        if char == separator and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return parts + [text[begin:]]


def parameter_of(text):
    text = " ".join(text.split())
    left, _, fallback = (part.strip() for part in text.partition("="))
    found = re.match(r"^(.*?[\s&*>])(\w+)$", left)
    return (found.group(1).strip(), found.group(2), fallback) if found else (left, "", fallback)


def fields_of(entry):
    """The members of a struct without functions: (type, name, default, meaning); None: it is another kind of struct."""
    fields, above, body = [], [], entry.lines[1:-1]
    statement = ""
    for line in body:
        code, note = code_of(line).strip(), comment_of(line)
        if not code and not statement:
            if note is None:
                above = []
            elif fields and not above and len(line) - len(line.lstrip()) > 2:
                fields[-1][3] += " " + note  # goes on behind the option above
            else:
                above.append(note)
            continue
        statement += (" " if statement else "") + code
        if not statement.endswith(";"):
            continue
        if statement.startswith(("friend", "static", "using")):
            return None
        type_ = ""
        for declared in split(statement[:-1], ","):
            left, _, fallback = (part.strip() for part in declared.partition("="))
            type_, name = left.rsplit(" ", 1) if not type_ and " " in left else (type_, left)
            if not re.fullmatch(r"\w+", name) or not type_:
                return None
            fields.append([type_, name, fallback, " ".join(above + ([note] if note else []))])
        statement, above = "", []
    return fields or None


class Header:
    def __init__(self, path, name):
        self.name = name  # "layers.h"
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.contract, self.entries = [], []
        self.read()

    def read(self):
        at = 0
        while at < len(self.lines) and self.lines[at].startswith("//"):
            self.contract.append(self.lines[at][2:].removeprefix(" "))
            at += 1
        comment = []
        while at < len(self.lines):
            line = self.lines[at]
            if found := SECTION.match(line):
                self.flush(comment)
                self.entries.append(Entry("section", found.group(1)))
            elif line.startswith("//"):
                comment.append(line[2:].removeprefix(" "))
            elif not line.strip():
                self.flush(comment)
            elif line.startswith(("#", "namespace", "}")) or FORWARD.match(code_of(line)):
                comment.clear()
            else:
                at = self.declaration(at, comment)
                comment = []
            at += 1
        self.flush(comment)

    def flush(self, comment):
        if comment:
            self.entries.append(Entry("text", None, comment))
            comment.clear()

    def declaration(self, at, comment):
        """Takes the declaration that begins in line `at`; returns its last line."""
        begin, depth = at, 0
        while at < len(self.lines):
            code = code_of(self.lines[at])
            depth += sum(code.count(c) for c in "({[") - sum(code.count(c) for c in ")}]")
            if depth == 0 and (code.endswith(";") or code.endswith("}")):
                break
            at += 1
        lines = self.lines[begin : at + 1]
        name = name_of("\n".join(code_of(line) for line in lines))
        self.entries.append(Entry("declaration", name, comment, lines))
        return at

    def declarations(self):
        return [entry for entry in self.entries if entry.kind == "declaration"]

    def names(self):
        return [entry.name for entry in self.declarations() if entry.name]

    def summary(self):
        text = []
        for line in self.contract:
            if not line.strip() and text:
                break
            text.append(line.strip())
        sentence = re.split(r"(?<=[.:])\s", " ".join(text))[0]
        return sentence.rstrip(":")


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


def read_headers(root):
    """The public headers, in the order of their names; without stoker.h, the sum of them."""
    public = root / "include/stoker"
    paths = [path for path in sorted(public.rglob("*.h")) if path.name != "stoker.h"]
    return [Header(path, path.relative_to(public).as_posix()) for path in paths]


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
