#!/usr/bin/env python3
"""Every name of Keras has a counterpart or a reason on the page "Keras to Stoker, A–Z", and the page finds what there is.

    test_keras_az.py [ROOT]
"""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else Path(__file__).parents[2]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
import header_reader  # noqa: E402
import keras_az  # noqa: E402
import reference  # noqa: E402

HEADER = """\
// Things.
#pragma once

namespace stoker {

class AveragePooling2D : public Layer {
 public:
  AveragePooling2D();
};

namespace data {

class Dataset {
 public:
  Dataset batch(int64_t size) const;
};

}  // namespace data
}  // namespace stoker

namespace stoker::ops {

Value sum(const Value& x);

}  // namespace stoker::ops
"""


def table_of(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.txt"
        path.write_text(text, encoding="utf-8")
        return keras_az.Table(path)


def counterparts(text=""):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.h"
        path.write_text(HEADER, encoding="utf-8")
        library = keras_az.Library([header_reader.Header(path, "x.h")], reference.page_name, ROOT)
    return keras_az.Counterparts(library, reference.Counterparts(ROOT / "scripts/keras_names.txt"), table_of(text))


class Finding(unittest.TestCase):
    def test_finds_names_where_they_belong(self):
        self.assertEqual(counterparts().of("keras.ops", "sum"), "[`ops::sum`](x.md#sum)")
        self.assertEqual(counterparts().of("keras.layers", "AveragePooling2D"), "[`AveragePooling2D`](x.md#averagepooling2d)")
        self.assertEqual(counterparts().of("tf.data.Dataset", "batch"), "[`Dataset::batch`](x.md#dataset)")
        self.assertIsNone(counterparts().of("keras.losses", "sum"))

    def test_finds_other_names_only_where_they_exist(self):
        text = "keras.layers.AvgPool2D = AveragePooling2D\nkeras.layers.AvgPool3D = AveragePooling3D"
        self.assertIn("AveragePooling2D", counterparts(text).of("keras.layers", "AvgPool2D"))
        self.assertIsNone(counterparts(text).of("keras.layers", "AvgPool3D"))

    def test_takes_code_as_it_is(self):
        self.assertEqual(counterparts("keras.ops.add = `a + b`").of("keras.ops", "add"), "`a + b`")

    def test_reads_reasons_for_many_names(self):
        table = table_of("keras.*.get : names are options\nkeras.layers.Conv3D ?\n")
        self.assertEqual(table.of("keras.losses.get", ":"), "names are options")
        self.assertEqual(table.of("keras.layers.Conv3D", "?"), "")
        self.assertIsNone(table.of("keras.layers.Conv2D", ":"))

    def test_a_name_without_anything_is_found(self):
        rows = {"keras.ops": [keras_az.Row("a", None, None, False), keras_az.Row("b", None, "why", False)]}
        self.assertEqual(keras_az.unexplained(rows), ["keras.ops.a"])


class Page(unittest.TestCase):
    def test_every_name_has_a_counterpart_or_a_reason(self):
        headers, names = header_reader.read_headers(ROOT), reference.Counterparts(ROOT / "scripts/keras_names.txt")
        rows = keras_az.rows_of(ROOT, headers, reference.page_name, names)
        self.assertEqual(keras_az.unexplained(rows), [], "give them a line in scripts/keras_az.txt, then: make reference")


if __name__ == "__main__":
    unittest.main()
