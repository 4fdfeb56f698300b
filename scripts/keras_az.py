"""The page "Keras to Stoker, A–Z" (docs/reference/keras-a-z.md), which scripts/reference.py writes.

Names of Keras come from scripts/keras_api.txt. A counterpart is found in the public headers by its name, so that one that
is added appears by itself. scripts/keras_az.txt has the others, a line each, * in the name stands for anything:

    keras.ops.add = `a + b`                      called otherwise
    keras.layers.AvgPool2D = AveragePooling2D    the same under another name, where that one is there
    keras.layers.FlaxLayer : JAX code cannot …   there is none, and why
    keras.layers.Conv3D ?                        there is none yet

    scripts/keras_az.py         lists names with neither counterpart nor line, and lines that are of no use any more
    scripts/keras_az.py --prune takes lines out of scripts/keras_az.txt whose names have a counterpart by now
"""

import fnmatch
import re
import sys
from pathlib import Path

PAGE = "keras-a-z.md"
# Whose methods are counterparts of a module's names; the first that has one.
METHODS_OF = {
    "tf.data.Dataset": ["Dataset"],
    "keras.Model": ["Model", "Sequential"],
    "keras.Layer": ["Layer", "LayerBase", "CallContext"],
}
ROOT = Path(__file__).resolve().parent.parent


class Declared:
    def __init__(self, name, namespace, header, is_class, page):
        self.name, self.namespace, self.header, self.is_class, self.page = name, namespace, header, is_class, page

    def link(self):
        shown = f"{self.namespace}::{self.name}".removeprefix("stoker::")
        return f"[`{shown}`]({self.page}#{self.name.lower()})"


def namespaces_of(lines):
    """Per line the namespace that is open there."""
    stack, found = [], []
    for line in lines:
        if match := re.match(r"^namespace ([\w:]+) \{", line):
            stack.append(match.group(1))
        elif line.startswith("}  // namespace") and stack:
            stack.pop()
        found.append("::".join(stack))
    return found


class Library:
    """What the public headers declare."""

    def __init__(self, headers, page_name, root):
        self.by_name, self.methods = {}, {}
        for header in headers:
            spaces = dict(zip(header.lines, namespaces_of(header.lines)))
            for entry in header.declarations():
                if not entry.name:
                    continue
                code = entry.code.lstrip()
                declared = Declared(
                    entry.name, spaces[entry.lines[0]], header.name, code.startswith("class"), page_name(header.name)
                )
                self.by_name.setdefault(entry.name, []).append(declared)
                if declared.is_class and any(entry.name in owners for owners in METHODS_OF.values()):
                    for method in re.findall(r"^  [\w:<>& ]+?\b(\w+)\(", entry.code, re.MULTILINE):
                        link = f"[`{entry.name}::{method}`]({declared.page}#{entry.name.lower()})"
                        self.methods.setdefault((entry.name, method), link)
        source = root / "src/graph/functions/activations.cpp"
        self.activations = set(re.findall(r'^ *\{"(\w+)", \[', source.read_text(encoding="utf-8"), re.MULTILINE))

    def find(self, name, fits):
        return next((each for each in self.by_name.get(name, ()) if fits(each)), None)

    def find_loosely(self, name, fits):
        """By letters alone: kl_divergence is KLDivergence."""
        plain = name.replace("_", "").lower()
        for candidate in self.by_name:
            if candidate.lower() == plain and candidate[0].isupper():
                if found := self.find(candidate, fits):
                    return found
        return None


def in_header(word):
    return lambda each: word in each.header


def in_space(*spaces):
    return lambda each: any(each.namespace == space or each.namespace.startswith(space + "::") for space in spaces)


def layer_class(each):
    return each.is_class and each.namespace in ("stoker", "stoker::text")


OPS = in_space("stoker::ops")
# Where counterparts of a module's names are declared.
FITS = {
    "keras.layers": layer_class,
    "keras.losses": in_header("loss"),
    "keras.metrics": in_header("metric"),
    "keras.optimizers": lambda each: each.namespace == "stoker" and each.name[0].isupper(),
    "keras.optimizers.schedules": in_header("schedule"),
    "keras.callbacks": lambda each: each.namespace == "stoker" and each.name[0].isupper(),
    "keras.initializers": in_header("initializer"),
    "keras.regularizers": in_header("regularizer"),
    "keras.constraints": in_header("constraint"),
    "keras.activations": OPS,
    "keras.ops": OPS,
    "keras.ops.image": OPS,
    "keras.random": lambda each: "random" in each.header or "random" in each.namespace,
    "keras.utils": in_space("stoker::utils", "stoker::data"),
    "keras.utils.bounding_boxes": in_space("stoker::utils::bounding_boxes"),
    "keras.applications": in_space("stoker::applications"),
    "keras.models": in_space("stoker"),
    "keras.saving": in_space("stoker"),
    "keras.mixed_precision": in_space("stoker"),
    "keras.dtype_policies": in_space("stoker"),
    "keras.quantizers": in_space("stoker"),
    "keras.distribution": in_space("stoker"),
    "keras.distillation": in_space("stoker"),
    "keras.config": in_space("stoker"),
    "keras.visualization": in_space("stoker::utils"),
    "keras.wrappers": in_space("stoker"),
    "keras.export": in_space("stoker"),
    "keras.tree": in_space("stoker"),
    "keras.datasets": in_space("stoker::data"),
    "keras": in_space("stoker"),
    "keras.Layer": in_header("no header declares methods"),
    "keras.Model": in_header("no header declares methods"),
    "tf.data.Dataset": in_space("stoker::data"),
    "tf.data": in_space("stoker::data"),
}
BY_NAME = ("keras.losses", "keras.metrics", "keras.initializers", "keras.regularizers", "keras.constraints")


class Table:
    """scripts/keras_az.txt."""

    def __init__(self, path):
        self.lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        self.rows = []  # (pattern, mark, text)
        for line in self.lines:
            if match := re.match(r"^([\w.*]+)\s*([=:?])\s*(.*)$", line):
                self.rows.append(match.groups())

    def of(self, full, mark):
        return next((text for pattern, kind, text in self.rows if kind == mark and fnmatch.fnmatchcase(full, pattern)), None)


class Counterparts:
    def __init__(self, library, names_table, table):
        self.library, self.table = library, table
        # scripts/keras_names.txt the other way round.
        self.renamed = {}
        for (header, name), keras in names_table.names.items():
            if re.fullmatch(r"(keras|tf)[\w.]+", keras) and "." not in name:
                self.renamed.setdefault(keras, (header, name))

    def resolved(self, text):
        """What a line of the table says: the link of a name that has to exist, or text as it is."""
        if not re.fullmatch(r"[\w:]+", text):
            return text
        space, _, name = text.rpartition("::")
        found = self.library.find(name, in_space(f"stoker::{space}") if space else lambda each: True)
        return found.link() if found else None

    def of(self, module, name):
        """Markdown; None: there is none."""
        full, fits, library = f"{module}.{name}", FITS[module], self.library
        text = self.table.of(full, "=")
        if text is not None and (found := self.resolved(text)):
            return found
        if found := library.find(name, fits) or library.find(f"{name}Metric", fits):
            return found.link()
        if module == "keras.random" and (found := library.find(f"random_{name}", OPS)):
            return found.link()
        if full in self.renamed and library.by_name.get(self.renamed[full][1]):
            header, own = self.renamed[full]
            if found := library.find(own, lambda each: each.header == header):
                return found.link()
        for owner in METHODS_OF.get(module, ()):
            if found := library.methods.get((owner, name)):
                return found
        if module in BY_NAME and (found := library.find_loosely(name, fits) or library.find_loosely(name + "metric", fits)):
            return f'{found.link()}, or by name: `"{name}"`' if name.islower() else found.link()
        if module in ("keras.activations", "keras.ops") and name in library.activations:
            return f'[`ops::activation`](ops.md#activation)`(x, "{name}")`'
        return None


def names_of(root):
    """Module to names."""
    modules = {}
    for line in (root / "scripts/keras_api.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            module, _, names = line.partition(":")
            modules[module] = names.split()
    return modules


class Row:
    def __init__(self, name, counterpart, reason, missing):
        self.name, self.counterpart, self.reason, self.missing = name, counterpart, reason, missing

    def text(self):
        if self.counterpart:
            return self.counterpart
        return self.reason if self.reason else "not there yet" if self.missing else "?"


def rows_of(root, headers, page_name, names_table):
    """Module to rows."""
    table = Table(root / "scripts/keras_az.txt")
    counterparts = Counterparts(Library(headers, page_name, root), names_table, table)
    rows = {}
    for module, names in names_of(root).items():
        rows[module] = [
            Row(
                name,
                counterparts.of(module, name),
                table.of(f"{module}.{name}", ":"),
                table.of(f"{module}.{name}", "?") is not None,
            )
            for name in names
        ]
    return rows


def page(rows, mark):
    version = (ROOT / "scripts/keras_api.txt").read_text(encoding="utf-8").split("from ")[1].split("\n")[0].rstrip(".")
    lines = [
        mark,
        "",
        "# Keras to Stoker, A–Z",
        "",
        f"Every public name of {version}, with what it is called here or why there is none. The",
        "[guide for people of Keras](../guide/from-keras.md) shows programs in both.",
        "",
        "| module | names | here | not here, for a reason | not yet | here or for a reason |",
        "|---|---|---|---|---|---|",
    ]
    for module, each in rows.items():
        here = sum(bool(row.counterpart) for row in each)
        reason = sum(bool(row.reason) and not row.counterpart for row in each)
        anchor = module.replace(".", "").lower()
        share = 100 * (here + reason) / len(each)
        lines.append(
            f"| [`{module}`](#{anchor}) | {len(each)} | {here} | {reason} | {len(each) - here - reason} | {share:.0f} % |"
        )
    for module, each in rows.items():
        lines += ["", f"## {module}", "", "| Keras | Stoker |", "|---|---|"]
        lines += [f"| `{row.name}` | {row.text()} |" for row in each]
    return "\n".join(lines) + "\n"


def unexplained(rows):
    return [f"{m}.{row.name}" for m, each in rows.items() for row in each if row.text() == "?"]


def of_no_use(rows, table):
    """Lines ":" and "?" of the table all of whose names have a counterpart, or that fit no name."""
    by_name = {f"{module}.{row.name}": row for module, each in rows.items() for row in each}
    for pattern, mark, text in table.rows:
        fitting = [row for full, row in by_name.items() if fnmatch.fnmatchcase(full, pattern)]
        if mark == "=" and fitting:
            continue
        if all(row.counterpart or (mark == "?" and row.reason) for row in fitting):
            yield pattern, mark


def main():
    import reference

    headers, names_table = reference.read_headers(ROOT), reference.Counterparts(ROOT / "scripts/keras_names.txt")
    path = ROOT / "scripts/keras_az.txt"
    rows = rows_of(ROOT, headers, reference.page_name, names_table)
    useless = set(of_no_use(rows, Table(path)))
    if "--prune" in sys.argv:
        kept = []
        for line in path.read_text(encoding="utf-8").splitlines():
            match = re.match(r"^([\w.*]+)\s*([=:?])", line)
            if not match or match.groups() not in useless:
                kept.append(line)
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
        print(f"{len(useless)} lines taken out of {path.name}")
        return 0
    for name in unexplained(rows):
        print(f"{name}: neither counterpart nor reason")
    for pattern, mark in sorted(useless):
        print(f"{pattern} {mark}: of no use any more; scripts/keras_az.py --prune")
    return 1 if unexplained(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
