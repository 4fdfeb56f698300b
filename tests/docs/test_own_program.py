#!/usr/bin/env python3
"""The guide's page "your own program" shows the project that the test install.find_package builds: compares the two."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def block(text, language):
    return re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)


def without_comments(text):
    return re.sub(r"^#(?!include).*\n", "", text, flags=re.MULTILINE)


def main():
    page = (ROOT / "docs/guide/your-own-program.md").read_text(encoding="utf-8")
    differ = []
    for language, name in (("cpp", "main.cpp"), ("cmake", "CMakeLists.txt")):
        file = (ROOT / "tests/install" / name).read_text(encoding="utf-8")
        if block(page, language).strip() != without_comments(file).strip():
            differ.append(f"docs/guide/your-own-program.md and tests/install/{name} differ")
    print("\n".join(differ) or "equal")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
