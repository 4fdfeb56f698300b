#!/usr/bin/env python3
"""readme_verdict.py BUILD: the doctor's verdict in README.md, as text and as a picture, from a real run.

Runs BUILD/bin/example_doctor in an empty folder, on a machine without much else on it, puts its verdict, the shares of a
step and its advice between the marks of README.md, and photographs its page with Chromium into docs/images/doctor.png.
Look at both before you commit them.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN = ("A step takes", "What to do:")  # the verdict is above all


def shortened(report: str) -> str:
    """The first paragraph and those that begin as SHOWN does."""
    paragraphs = re.split(r"\n\s*\n", report.strip())
    return "\n\n".join(p for n, p in enumerate(paragraphs) if n == 0 or p.startswith(SHOWN))


def wrapped(text: str, width: int = 110) -> str:
    """The verdict is one long line."""
    words, lines = text.split(" "), [""]
    for word in words:
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def main() -> int:
    program = pathlib.Path(sys.argv[1]).resolve() / "bin/example_doctor"
    with tempfile.TemporaryDirectory() as folder:
        report = subprocess.run([program], cwd=folder, check=True, capture_output=True, text=True).stdout
        first, rest = shortened(report).split("\n", 1)
        body = f"```\n{wrapped(first)}\n{rest}\n```"
        readme = ROOT / "README.md"
        text = re.sub(r"(<!-- verdict:begin -->\n).*?(\n<!-- verdict:end -->)", lambda m: m[1] + body + m[2],
                      readme.read_text(encoding="utf-8"), flags=re.DOTALL)
        picture = ROOT / "docs/images/doctor.png"
        picture.parent.mkdir(exist_ok=True)
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        "--window-size=960,1000", f"--screenshot={picture}", f"file://{folder}/report/doctor.html"],
                       check=True, capture_output=True)
        readme.write_text(text, encoding="utf-8")
    print(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
