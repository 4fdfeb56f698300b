#!/usr/bin/env python3
"""Every page of the guide is listed in its README, and every relative link of README.md, docs/ and examples/ leads to a file."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?:\]\(|src=\")([^)#\s\"]+)(?:#[^)\"]*)?[)\"]")


def pages():
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md")]
    return [page for page in top if page.exists()] + sorted((ROOT / "docs").rglob("*.md"))


class Guide(unittest.TestCase):
    def test_lists_every_page_and_the_doctor_first(self):
        text = (ROOT / "docs/guide/README.md").read_text(encoding="utf-8")
        listed = re.findall(r"\]\(([\w-]+\.md)\)", text)
        there = {page.name for page in (ROOT / "docs/guide").glob("*.md")} - {"README.md"}
        self.assertEqual(set(listed), there)
        self.assertEqual(listed[0], "doctor.md")

    def test_examples_list_every_program(self):
        text = (ROOT / "examples/README.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"\]\(([\w/]+\.cpp)\)", text))
        there = {str(path.relative_to(ROOT / "examples")) for path in (ROOT / "examples").rglob("*.cpp")}
        self.assertEqual(listed, there)


class Links(unittest.TestCase):
    def test_lead_to_files(self):
        broken = []
        for page in pages():
            text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            for target in LINK.findall(text):
                if not target.startswith(("http", "mailto:")) and not (page.parent / target).exists():
                    broken.append(f"{page.relative_to(ROOT)}: {target}")
        self.assertEqual(broken, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
