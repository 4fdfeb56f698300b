#!/usr/bin/env python3
"""A bad include must be caught, and a good one let through: the test of check_includes.py."""

import tempfile
import unittest
from pathlib import Path

import check_includes


def problems_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_includes.check_tree(folder)[1]


class CheckIncludes(unittest.TestCase):
    def refuses(self, path, include, words):
        found = problems_of({path: f"// a comment\n#include {include}\n"})
        self.assertEqual(len(found), 1, found)
        self.assertIn(f"{path}:2:", found[0])
        self.assertIn(words, found[0])

    def accepts(self, path, *includes):
        self.assertEqual(problems_of({path: "".join(f"#include {i}\n" for i in includes)}), [])

    def test_only_an_engine_knows_its_name(self):
        questions = [
            'bool gpu = engine.name() == "cuda";',
            'if (context.device.starts_with("cuda")) return;',
            'Backend& gpu = backend("cuda");',
            'if (name() != "reference") return;',
            'return context.device == "cpu";',
            'use("cuda:0");',
        ]
        for line in questions:
            found = problems_of({"src/train/fit.cpp": f"\n{line}\n"})
            self.assertEqual(len(found), 1, line)
            self.assertIn("src/train/fit.cpp:2: asks for an engine's name", found[0])
            self.assertEqual(problems_of({"src/engine/cuda/cuda_backend.cpp": line}), [])
        for line in ['// "cuda" is the first', 'Context host{.device = "reference"};', 'say("as \\"cuda:0\\"");']:
            self.assertEqual(problems_of({"src/train/fit.cpp": line}), [], line)

    def test_rooms_may_include_earlier_rooms(self):
        self.accepts("src/graph/op.cpp", '"graph/op.h"', '"base/arena.h"', "<stoker/value.h>", "<stoker/tensor.h>", "<vector>")
        self.accepts("src/train/fit.cpp", '"nn/layer.h"', '"formats/safetensors.h"', '"engine/backend.h"', "<stoker/model.h>")
        self.accepts("src/engine/cpu/ops/conv2d.cpp", '"engine/cpu/stream.h"', "<oneapi/dnnl/dnnl.hpp>", "<omp.h>")
        self.accepts("apps/stoker/main.cpp", '"options.h"', '"observe/doctor.h"', "<stoker/stoker.h>", "<CLI/CLI.hpp>")

    def test_rooms_may_not_include_later_rooms(self):
        self.refuses("src/base/tensor.cpp", '"graph/op.h"', "base includes graph")
        self.refuses("src/graph/op.cpp", '"engine/backend.h"', "graph includes engine")
        self.refuses("src/nn/dense.cpp", "<stoker/model.h>", "nn includes train")
        self.refuses("src/train/fit.cpp", '"observe/doctor.h"', "train includes observe")
        self.refuses("src/interop/onnx/export.cpp", '"observe/doctor.h"', "interop includes observe")

    def test_formats_and_data_stay_apart_from_graph_and_engine(self):
        for path in ("src/graph/a.cpp", "src/engine/a.cpp", "src/nn/a.cpp"):
            self.refuses(path, '"formats/npy.h"', "includes formats")
        self.refuses("src/formats/npy.cpp", '"graph/op.h"', "formats includes graph")
        self.refuses("src/data/map.cpp", '"graph/op.h"', "data includes graph")
        self.refuses("src/graph/op.cpp", '"data/map.h"', "graph includes data")

    def test_public_headers_belong_to_rooms(self):
        self.accepts("include/stoker/model.h", "<stoker/layers.h>", "<stoker/tensor.h>", "<memory>")
        self.accepts("include/stoker/stoker.h", "<stoker/model.h>", "<stoker/tensor.h>")
        self.refuses("include/stoker/value.h", "<stoker/layers.h>", "graph includes nn")
        self.refuses("include/stoker/tensor.h", '"base/arena.h"', "not installed")
        self.refuses("include/stoker/tensor.h", "<fmt/format.h>", "need not have")
        self.refuses("src/train/fit.cpp", "<stoker/stoker.h>", "for users")
        self.refuses("src/train/fit.cpp", "<stoker/unheard_of.h>", "add it to PUBLIC")

    def test_an_unknown_public_header_or_room_is_named(self):
        self.assertIn("add it to PUBLIC", problems_of({"include/stoker/unheard_of.h": ""})[0])
        self.assertIn("no known room", problems_of({"src/attic/box.cpp": ""})[0])

    def test_includes_name_their_room(self):
        self.refuses("src/base/tensor.cpp", '"tensor_impl.h"', "does not start with a room")
        self.refuses("src/base/tensor.cpp", '"../graph/op.h"', "does not start with a room")

    def test_vendors_headers_stay_in_their_rooms(self):
        self.accepts("src/engine/cuda/conv2d.cpp", "<cudnn.h>", "<cuda_runtime.h>")
        self.refuses("src/train/fit/ring.cpp", "<nccl.h>", "CUDA header")
        self.accepts("include/stoker/extend/kernel.h", "<cuda_runtime.h>")
        self.refuses("src/engine/program.cpp", "<cuda_runtime.h>", "CUDA header")
        self.refuses("src/engine/reference/conv2d.cpp", "<oneapi/dnnl/dnnl.hpp>", "oneDNN header")
        self.refuses("include/stoker/tensor.h", "<dnnl.hpp>", "oneDNN header")


if __name__ == "__main__":
    unittest.main()
