"""Reads the public headers for scripts/reference.py: sections, declarations with their comments, options with defaults."""

import re

SECTION = re.compile(r"^// --- (.*?)(?: -+)?$")
FORWARD = re.compile(r"^(?:friend )?(?:class|struct) \w+;")
NAMED = re.compile(r"^(?:enum class|enum|class|struct|concept)\s+(\w+)")


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


MEMBER_FUNCTION = re.compile(r"^([^=(){}]*?[\s&*>])(\w+\([^={}]*(?:=[^={}]*)*\))(?: const)?(?: noexcept)?(?: \{.*\}|;)$")


def fields_of(entry):
    """The members of a struct: (type, name, default, meaning), with the arguments behind the name of a function; None: it is
    another kind of struct."""
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
        function = MEMBER_FUNCTION.match(statement)
        if function and not statement.startswith(("friend", "static", "using", "explicit", "template")):
            fields.append([function.group(1).strip(), function.group(2), "", " ".join(above + ([note] if note else []))])
            statement, above = "", []
            continue
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


def read_headers(root):
    """The public headers, in the order of their names; without stoker.h, the sum of them."""
    public = root / "include/stoker"
    paths = [path for path in sorted(public.rglob("*.h")) if path.name != "stoker.h"]
    return [Header(path, path.relative_to(public).as_posix()) for path in paths]
