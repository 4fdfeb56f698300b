#!/usr/bin/env python3
"""What extract.py makes of a page."""

import tempfile
import unittest
from pathlib import Path

import extract

PAGE = """# Title
<!-- given: int x = 1; -->
```cpp
#include <vector>
std::vector<int> v{x};
```
and then
<!-- continues -->
```cpp
v.push_back(2);
```
<!-- not compiled: another library's code -->
```cpp
nonsense
```
<!-- file scope -->
```cpp
int twice(int y) { return 2 * y; }
```
```bash
make
```
```cpp
int main() { return 0; }
```
<!-- compiled, not run: needs a folder of images -->
```cpp
int main() { return 1; }
```
"""


class Extract(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        (self.out / "a page.md").write_text(PAGE)
        extract.extract(self.out, self.out, ["a page.md"])
        self.page = (self.out / "a_page.cpp").read_text()

    def test_the_manifest_lists_pages_and_programs(self):
        manifest = (self.out / "manifest.txt").read_text().split("\n")
        self.assertEqual(manifest, ["page a_page.cpp", "program a_page_1.cpp", "unrun a_page_2.cpp", ""])

    def test_includes_are_hoisted_and_lines_point_to_the_page(self):
        self.assertLess(self.page.index("#include <vector>"), self.page.index("block_1"))
        self.assertEqual(self.page.count("#include <vector>"), 1)
        self.assertIn('#line 4 "a page.md"', self.page)

    def test_a_block_can_continue_the_one_before(self):
        self.assertIn("v.push_back(2);", self.page.split("block_2")[0])
        self.assertIn("int x = 1;", self.page.split("block_2")[0])

    def test_excluded_blocks_are_left_out(self):
        self.assertNotIn("nonsense", self.page)

    def test_a_block_can_stand_at_file_scope(self):
        self.assertIn("namespace block_2 {", self.page)

    def test_nothing_is_written_when_nothing_changed(self):
        before = (self.out / "a_page.cpp").stat().st_mtime_ns
        extract.extract(self.out, self.out, ["a page.md"])
        self.assertEqual((self.out / "a_page.cpp").stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
