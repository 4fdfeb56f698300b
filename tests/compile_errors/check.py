#!/usr/bin/env python3
"""Compiles what must not compile, and checks that the compiler says one thing: what to do instead.

usage: check.py COMPILER INCLUDE_FOLDER...
"""
import subprocess
import sys

# Snippet of a function's body, and what the only error says.
CASES = [
    ("Tensor t; t.values<double>();", "stoker has no float64 tensors: use float"),
    ("Tensor t; t.data_mut<long double>();", "stoker has no float64 tensors: use float"),
    ("Tensor t; t.data<unsigned>();", "no tensors of this unsigned type: use uint8_t, int32_t or int64_t"),
    ("Tensor t; t.values<size_t>();", "no tensors of this unsigned type: use uint8_t, int32_t or int64_t"),
    ("Tensor t; t.values<long long>();", "int64 tensors hold int64_t"),
    ("Tensor t; t.data<char>();", "no tensor holds char: use int8_t or uint8_t for numbers, std::string for text"),
    ("Tensor::from(std::vector<char>{'a'}, {1});", "no tensor holds char"),
    ("struct Mine {}; Tensor::from(std::vector<Mine>(1), {1});", "no tensor holds this type: use float"),
    ("ConstTensorView v; v.values<double>();", "stoker has no float64 tensors: use float"),
    ("data::range(3).map([](unsigned x) { return x; });", "no tensors of this unsigned type"),
    ("data::range(3).map([](char x) { return int(x); });", "no tensor holds char"),
    ("data::range(3).map([](int64_t) { return 'x'; });", "no tensor holds char"),
]
# The same shape of program, and nothing is wrong with it.
GOOD = """
Tensor::from(std::vector<double>{1, 2}, {2}); Tensor::from<double>({1, 2}, {2}); Tensor::from({1.0, 2.0}, {2});
Tensor::from(std::vector<size_t>{1}, {1}); Tensor::from(std::vector<bool>{true}, {1}); Tensor::from({"a"}, {1});
Tensor(1.0F).to_vector<double>(); Tensor(1.0F).values<const float>();
data::range(3).map([](int64_t x) { return double(x); }).map([](double x) { return std::vector<double>{x}; });
data::range(3).map([](long long x) { return unsigned(x); });
data::range(3).filter([](int64_t x) { return x > 1; });
"""
PROGRAM = "#include <stoker/{}>\nusing namespace stoker;\nvoid user() {{ {} }}\n"


def errors_of(compiler, folders, body):
    program = PROGRAM.format("dataset.h" if "data::" in body else "tensor_view.h", body)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-w", "-x", "c++", *("-I" + f for f in folders), "-"]
    done = subprocess.run(command, input=program, capture_output=True, text=True)
    assert (done.returncode == 0) == ("error:" not in done.stderr), done.stderr
    return [line for line in done.stderr.splitlines() if "error:" in line]


def main(compiler, *folders):
    failures = []
    if found := errors_of(compiler, folders, GOOD):
        failures.append("does not compile:\n" + "\n".join(found))
    for body, sentence in CASES:
        found = errors_of(compiler, folders, body)
        if len(found) != 1 or sentence not in found[0]:
            failures.append(f"{body}\nexpected one error: {sentence}\ngot:\n" + "\n".join(found))
    print("\n\n".join(failures) or f"{len(CASES)} errors, one sentence each")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
