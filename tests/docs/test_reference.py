#!/usr/bin/env python3
"""Every public name has an entry in docs/reference, and scripts/reference.py reads headers as people do.

    test_reference.py [ROOT]
"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else Path(__file__).parents[2]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
import header_reader  # noqa: E402
import reference  # noqa: E402

# What stands at the left edge declares something for everyone. On purpose another way of looking than reference.py's.
TYPE = re.compile(r"^(?:template <.*> ?)?(?:class|struct|enum class) (\w+)(?: :| \{| final|$)")
ALIAS = re.compile(r"^(?:template <.*> ?)?(?:using|concept) (\w+) =")
FUNCTION = re.compile(r"^(?! |using|class|struct|template|namespace|return|#|//|\})[\w:<>,&*\[\] ]+?[ &*](\w+)\(")


def public_names(text):
    for line in text.splitlines():
        for pattern in (TYPE, ALIAS, FUNCTION):
            if found := pattern.match(line):
                yield found.group(1)
                break


def names_without_entry(header, page):
    entries = set(re.findall(r"^### (\S+)", page, re.MULTILINE))
    return [name for name in dict.fromkeys(public_names(header)) if name not in entries]


def header_of(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.h"
        path.write_text(text, encoding="utf-8")
        return header_reader.Header(path, "x.h")


EXAMPLE = """\
// What it is.
//
//   int code = 1;
#pragma once

namespace stoker {

class Later;

// --- first ------------------------------------------------------

struct ThingOptions {
  int64_t units = 3;       // how many
  double low = 0, high = 1;
  // Between them.
  std::function<void(int a, int b)> call = {};  // goes
                                                // on
};
// A thing.
class Thing : public Base {
 public:
  explicit Thing(const Shape& shape, int64_t size = 2,
                 const ThingOptions& options = {});
  friend bool operator==(const Thing&, const Thing&) = default;

 private:
  int hidden_ = 0;
};

using Things = std::vector<Thing>;

template <class T>
Thing made(T value) {
  return Thing({value});
}
double sum(const Thing& a, const Thing& b);  // of both
inline constexpr int kMany = 3;

}  // namespace stoker
"""


class Reading(unittest.TestCase):
    def test_finds_every_name_once(self):
        self.assertEqual(header_of(EXAMPLE).names(), ["ThingOptions", "Thing", "Things", "made", "sum", "kMany"])

    def test_takes_options_with_defaults_and_comments(self):
        entry = header_of(EXAMPLE).declarations()[0]
        self.assertEqual(
            header_reader.fields_of(entry),
            [
                ["int64_t", "units", "3", "how many"],
                ["double", "low", "0", ""],
                ["double", "high", "1", ""],
                ["std::function<void(int a, int b)>", "call", "{}", "Between them. goes on"],
            ],
        )

    def test_takes_functions_of_a_report_with_their_arguments(self):
        text = (
            "// A report.\n#pragma once\nnamespace stoker {\nstruct Report {\n  int64_t zeros = 0;\n"
            "  double share() const { return zeros == 0 ? 0.0 : 1.0; }\n  std::string text(bool colour = false) const;  // a table\n"
            "  // Into a folder.\n  void write(const std::string& folder) const;\n};\n}  // namespace stoker\n"
        )
        self.assertEqual(
            header_reader.fields_of(header_of(text).declarations()[0]),
            [
                ["int64_t", "zeros", "0", ""],
                ["double", "share()", "", ""],
                ["std::string", "text(bool colour = false)", "", "a table"],
                ["void", "write(const std::string& folder)", "", "Into a folder."],
            ],
        )

    def test_takes_arguments(self):
        entry = header_of(EXAMPLE).declarations()[1]
        self.assertEqual([name for _, name, _ in entry.parameters()], ["shape", "size", "options"])
        self.assertEqual(entry.options_struct(), "ThingOptions")

    def test_leaves_out_what_is_private(self):
        text = reference.Page.public_part(header_of(EXAMPLE).declarations()[1])
        self.assertIn("explicit Thing", text)
        self.assertNotIn("hidden_", text)

    def test_a_name_without_an_entry_is_found(self):
        page = "### Thing\n### ThingOptions\n### Things\n### made\n"
        self.assertEqual(names_without_entry(EXAMPLE, page), ["sum"])


class Pages(unittest.TestCase):
    def test_every_public_name_has_an_entry(self):
        missing = []
        for path in sorted((ROOT / "include/stoker").rglob("*.h")):
            name = path.relative_to(ROOT / "include/stoker").as_posix()
            if name == "stoker.h":
                continue
            page = ROOT / "docs/reference" / reference.page_name(name)
            text = page.read_text(encoding="utf-8") if page.exists() else ""
            missing += [f"{name}: {each}" for each in names_without_entry(path.read_text(encoding="utf-8"), text)]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
