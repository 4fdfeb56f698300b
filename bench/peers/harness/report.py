"""docs/performance.md from the measured rows and the notes. Whether Stoker is ahead or behind is computed from the figures; a
note that says otherwise stops the report."""

from __future__ import annotations

import math
import re
from typing import Any, Mapping, Sequence

from .stats import best, gain
from .workloads import COLUMNS, TITLES

# Sections at the end that other programs measure: what the notes say, under these titles.
MORE = {"gpu": "On a GPU", "pipeline": "The input pipeline by itself"}
LEVEL = 0.02  # less than this share apart is neither ahead nor behind
Notes = Mapping[str, str]
RowJson = Mapping[str, Any]


class ReportError(RuntimeError):
    pass


def parse_notes(text: str) -> dict[str, str]:
    """"## row-id" headings and the paragraphs below them."""
    notes: dict[str, str] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        notes[name.strip()] = body.strip()
    return notes


def number(value: float) -> str:
    """Three significant digits, thousands with a comma: 0.0123, 1.23, 12.3, 123, 1,230."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{float(f'{value:.4g}' if abs(value) < 1e4 else f'{value:.3g}'):,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def cell_text(cell: Mapping[str, Any] | None) -> str:
    if cell is None or "median" not in cell:
        return "–"
    text = number(cell["median"])
    if len(cell["samples"]) > 1:
        text += f" ({number(cell['p10'])}–{number(cell['p90'])})"
    return text


def medians(row: RowJson) -> dict[str, float]:
    return {key: cell["median"] for key, cell in row["systems"].items() if "median" in cell}


def comparison(row: RowJson) -> tuple[str, float, str] | None:
    """The best peer, Stoker's gain over it and the verdict; None where there is nothing to compare."""
    values = medians(row)
    if row["better"] == "none" or "stoker" not in values:
        return None
    peers = {key: value for key, value in values.items() if key != "stoker"}
    rival = best(peers, row["better"])
    if rival is None:
        return None
    ratio = gain(values["stoker"], peers[rival], row["better"])
    return rival, ratio, "ahead" if ratio > 1 + LEVEL else "behind" if ratio < 1 - LEVEL else "level"


def check_notes(rows: Sequence[RowJson], notes: Notes) -> None:
    known = {row["id"]: row for row in rows}
    for name, text in notes.items():
        if name in TITLES or name in MORE or name in ("introduction", "limits"):
            continue
        if name not in known:
            raise ReportError(f"notes.md: \"{name}\" is no row; rows are {', '.join(sorted(known))}")
        compared = comparison(known[name])
        if compared and compared[2] != "ahead" and re.search(r"\bahead\b", text):
            raise ReportError(f"notes.md: \"{name}\" says ahead, but the figures say {compared[2]} ({compared[1]:.2f}×)")


def table(section: str, rows: Sequence[RowJson], labels: Mapping[str, str]) -> list[str]:
    shown = [key for key in COLUMNS[section] if key == "stoker" or any(key in medians(row) for row in rows)]
    limited = any(row.get("limit") for row in rows)
    head = ["", "unit", *(labels.get(key, key) for key in shown), *(["limit"] if limited else []), "Stoker against the best"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        cells = [cell_text(row["systems"].get(key)) for key in shown]
        limit = [number(row["limit"]) if row.get("limit") else "–"] if limited else []
        title = row["title"] if not row["title"].startswith(" ") else "· " + row["title"].strip()
        title += " (short run)" if row.get("quick") else ""
        lines.append("| " + " | ".join([title, row["unit"], *cells, *limit, verdict_text(row, labels)]) + " |")
    return lines


def verdict_text(row: RowJson, labels: Mapping[str, str]) -> str:
    if row["better"] == "none":
        return ""
    compared = comparison(row)
    if compared is None:
        return "–"
    rival, ratio, verdict = compared
    joint = "with" if verdict == "level" else "of" if verdict == "ahead" else ""
    words = " ".join(word for word in (verdict, joint, labels.get(rival, rival)) if word)
    return f"{ratio:.2f}×, {words}" if ratio < 10 else f"{ratio:.0f}×, {words}"


def paragraphs(rows: Sequence[RowJson], notes: Notes, labels: Mapping[str, str]) -> list[str]:
    """One for every row where a peer is ahead, and for every row that has a note."""
    lines: list[str] = []
    for row in rows:
        compared = comparison(row)
        behind = compared is not None and compared[2] == "behind"
        note = notes.get(row["id"], "")
        if not behind and not note:
            continue
        text = f"**{title_of(row, rows)}.** "
        if behind and compared is not None:
            rival = compared[0]
            ours, theirs = medians(row)["stoker"], medians(row)[rival]
            text += (f"{labels.get(rival, rival)} is ahead: {number(theirs)} {row['unit']} against Stoker's {number(ours)} "
                     f"({compared[1]:.2f}×). ")
            note = note or "The cause is not known yet."
        lines += [text + note, ""]
    return lines


def title_of(row: RowJson, rows: Sequence[RowJson]) -> str:
    """An indented row continues the last one that is not."""
    if not row["title"].startswith(" "):
        return row["title"]
    parent = ""
    for other in rows:
        if other is row:
            break
        if not other["title"].startswith(" "):
            parent = other["title"]
    return f"{parent}: {row['title'].strip()}"


def variants_used(rows: Sequence[RowJson], labels: Mapping[str, str]) -> list[str]:
    """Which form of each peer was fastest and is shown."""
    lines: list[str] = []
    for row in rows:
        used = [f"{labels.get(key, key)}: {cell['variant']}" for key, cell in row["systems"].items()
                if len(cell.get("variants", {})) > 1]
        if used:
            lines.append(f"- {row['title'].strip()}: " + "; ".join(used))
    return lines


def missing_list(rows: Sequence[RowJson], labels: Mapping[str, str]) -> list[str]:
    """Each reason once, with the rows it holds for unless it holds for all."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for key, cell in row["systems"].items():
            if "missing" in cell:
                reasons.setdefault((key, cell["missing"]), []).append(title_of(row, rows).split(": ")[0])
    lines = []
    for (key, reason), titles in reasons.items():
        where = "" if len(titles) == len(rows) else f" ({'; '.join(dict.fromkeys(titles))})"
        lines.append(f"- {labels.get(key, key)}: {reason}{where}")
    return lines


def bars(rows: Sequence[RowJson]) -> list[str]:
    """The promises of this comparison, each with the worst row."""
    by_id = {row["id"]: row for row in rows}
    lines = []

    def least(ids: list[str], peer: str) -> tuple[float, str] | None:
        found = []
        for name in ids:
            values = medians(by_id[name])
            if "stoker" in values and peer in values:
                found.append((gain(values["stoker"], values[peer], by_id[name]["better"]), by_id[name]["title"].strip()))
        return min(found) if found else None

    def line(what: str, asked: float, result: tuple[float, str] | None) -> None:
        if result:
            state = "met" if result[0] >= asked else "**missed**"
            lines.append(f"| {what} | ≥ {asked:g}× | {result[0]:.2f}× ({result[1]}) | {state} |")

    cnns = [name for name in by_id if re.match(r"b/(cnn|residual)", name)]
    everything = [name for name in by_id if name.startswith(("b/", "d/"))]
    line("every CNN step against Keras", 1.5, least(cnns, "keras"))
    line("process start against Keras", 20, least(["d/start"], "keras") if "d/start" in by_id else None)
    for peer, name in (("keras", "Keras"), ("torch", "PyTorch"), ("libtorch", "libtorch")):
        line(f"every row of (b) and (d) against {name}", 1, least(everything, peer))
    return ["| promise | asked | worst row | |", "|---|---|---|---|", *lines] if lines else []


def heading(results: Mapping[str, Any]) -> list[str]:
    machine = results["machine"]
    gpus = ", ".join(machine["gpus"]) or "no GPU"
    versions = ", ".join(system["label"] for system in results["systems"].values() if not system["missing"])
    lines = [
        "# Performance", "",
        f"Generated by `{results['command']}` on {results['date']}; do not edit. Texts come from "
        "`bench/peers/notes.md`.", "",
        f"- Machine: {machine['cpu']}, {machine['cores']} cores ({', '.join(machine['vector'])}), {machine['memory_gib']} GiB, "
        f"{gpus}; {machine['os']}, Linux {machine['kernel']}; {machine['compiler']}",
        f"- Systems: {versions}",
        f"- Method: {results['settings']['threads']} threads for everybody. Live worker processes take turns, the others are "
        f"stopped meanwhile; warm-up apart; {results['settings']['rounds']} rounds of blocks of about "
        f"{results['settings']['block']:g} s; figures are medians (10th–90th percentile). Every peer runs in several "
        "documented forms, and the fastest in the warm-up is the one that is measured.",
    ]
    if machine.get("load", 0) > 0.5:
        priority = (": other work, which got what the workers left, since those ran with real-time priority; caches and memory "
                    "were shared" if machine.get("real_time") else "")
        lines.append(f"- Load average when the run ended: {machine['load']:g}{priority}")
    if results.get("earlier_commands"):
        lines.append("- Measured in pieces; before the last command: " + "; ".join(results["earlier_commands"]))
    others = ", ".join(f"{name} {version}" for name, version in results.get("tools", {}).items())
    lines += [f"- In the peers' environment for later comparisons: {others}"] if others else []
    lines += [f"- Missing: {system['label']}: {system['missing']}" for system in results["systems"].values() if system["missing"]]
    return lines


def limits_lines(limits: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    lines = ["", "## Limits of this machine", ""]
    if "memcpy_gb_s" in limits:
        lines.append(f"- memcpy, all threads: {number(limits['memcpy_gb_s'])} GB/s copied")
    peaks = limits.get("matmul_gflop_s", {})
    if peaks:
        shown = ", ".join(f"{labels.get(key, key)} {number(value)}" for key, value in peaks.items())
        lines.append(f"- float32 matmul 1024³, best of many, GFLOP/s: {shown}; the limits below are FLOPs ÷ the highest")
    if "jpeg_images_s" in limits:
        lines.append(f"- libjpeg-turbo alone, whole photographs, one core: {number(limits['jpeg_images_s'])} images/s")
    if "missing" in limits:
        lines.append(f"- not measured: {limits['missing']}")
    return lines


def markdown(results: Mapping[str, Any], notes: Notes) -> str:
    rows: Sequence[RowJson] = results["rows"]
    check_notes(rows, notes)
    labels = {key: system["label"] for key, system in results["systems"].items()}
    lines = heading(results)
    if notes.get("introduction"):
        lines += ["", notes["introduction"]]
    promised = bars(rows)
    if promised:
        lines += ["", "## Promises", "", *promised]
    lines += limits_lines(results["limits"], labels)
    for section, title in TITLES.items():
        own = [row for row in rows if row["id"].startswith(section + "/")]
        if not own:
            continue
        lines += ["", f"## {title}", "", *table(section, own, labels), ""]
        if notes.get(section):
            lines += [notes[section], ""]
        lines += paragraphs(own, notes, labels)
        used = variants_used(own, labels)
        if used:
            lines += ["Forms that were fastest:", "", *used, ""]
        absent = missing_list(own, labels)
        if absent:
            lines += ["Empty cells:", "", *absent, ""]
    for name, title in MORE.items():
        if notes.get(name):
            lines += ["", f"## {title}", "", notes[name], ""]
    return "\n".join(lines).rstrip() + "\n"


TOP_ROWS = ("b/cnn64/128", "b/cnn32/32", "b/residual/128", "c/digits/rate", "d/start", "d/install")


def readme_table(results: Mapping[str, Any]) -> str:
    """The rows that the README shows: Stoker beside the usual peers."""
    labels = {key: system["label"] for key, system in results["systems"].items()}
    shown = [key for key in ("stoker", "keras", "torch", "libtorch") if key in labels]
    lines = ["| | unit | " + " | ".join(labels[key] for key in shown) + " |", "|---" * (2 + len(shown)) + "|"]
    for row in results["rows"]:
        if row["id"] in TOP_ROWS:
            values = medians(row)
            cells = [number(values[key]) if key in values else "–" for key in shown]
            lines.append("| " + " | ".join([row["title"].strip(), row["unit"], *cells]) + " |")
    return "\n".join(lines)


def replace_between(text: str, mark: str, body: str) -> str:
    """The text with what stands between <!-- mark:begin --> and <!-- mark:end --> replaced; unchanged without the marks."""
    pattern = re.compile(rf"(<!-- {mark}:begin -->\n).*?(<!-- {mark}:end -->)", re.DOTALL)
    return pattern.sub(lambda match: match.group(1) + body + "\n" + match.group(2), text)
