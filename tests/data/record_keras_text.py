#!/usr/bin/env python3
"""Records what Keras's TextVectorization, StringLookup and IntegerLookup give, for test_keras_text.cpp.

    ~/.cache/stoker/peers/bin/python tests/data/record_keras_text.py > tests/data/keras_text.json

Texts are written as Latin-1 of their bytes, so that bytes which are not UTF-8 can stand in JSON.
"""

import json
import os
import random

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

WORDS = "the a of sea Sea SEA salt don't rock-pool wave waves tide tide; low-tide! (gull) gull, 42 3.14 é ÉTÉ 海 émigré ß".split()
NASTY = [
    b"",
    b"   ",
    b"\t\x0b\x0c\r\n",
    b"!!! ... ???",
    b"[UNK] unk",
    b"a\x1cb\xc2\xa0c\xe2\x80\x83d",
    b"caf\xe9 \xff\xfe \xe2\x82 \xed\xa0\x80",
    "İstanbul ǅ ﬀ".encode(),
    b"nul\x00nul nul",
    b"A" * 300,
]


def as_json(text):
    return (text if isinstance(text, bytes) else str(text).encode()).decode("latin-1")


def texts(rng, count):
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, 12))).encode() for _ in range(count)]


def result(value):
    value = np.asarray(value)
    flat = [as_json(each) for each in value.ravel()] if value.dtype == object else value.ravel().tolist()
    return {"shape": list(value.shape), "values": flat}


def vectorization(options, adapted, called):
    layer = keras.layers.TextVectorization(**options)
    if "vocabulary" not in options:
        layer.adapt(tf.constant(adapted))
    entry = {
        "options": {**options, "ngrams": list(options["ngrams"]) if isinstance(options.get("ngrams"), tuple) else options.get("ngrams")},
        "adapt": [as_json(text) for text in adapted],
        "call": [as_json(text) for text in called],
        "vocabulary": [as_json(token) for token in layer._lookup_layer.lookup_table.export()[0].numpy()],
        "result": result(layer(tf.constant(called))),
    }
    order = layer._lookup_layer.lookup_table.export()[1].numpy().argsort()
    entry["vocabulary"] = [entry["vocabulary"][at] for at in order]
    if options.get("output_mode") == "tf_idf":
        entry["idf_weights"] = layer._lookup_layer.idf_weights_const.numpy().tolist()
    return entry


def lookup(kind, options, called, adapted=None):
    layer = getattr(keras.layers, kind)(**options)
    if adapted is not None:
        layer.adapt(tf.constant(adapted))
    tokens = np.asarray(called)
    flat = [as_json(each) for each in tokens.ravel()] if tokens.dtype.kind in "SUO" else tokens.ravel().tolist()
    entry = {
        "kind": kind,
        "options": options,
        "call": {"shape": list(tokens.shape), "values": flat},
        "vocabulary": [as_json(t) if kind == "StringLookup" else int(t) for t in layer.get_vocabulary()],
        "result": result(layer(tf.constant(called))),
    }
    if adapted is not None:
        given = np.asarray(adapted)
        values = [as_json(each) for each in given.ravel()] if kind == "StringLookup" else given.ravel().tolist()
        entry["adapt"] = {"shape": list(given.shape), "values": values}
    return entry


def main():
    rng = random.Random(7)
    adapted, called = texts(rng, 40), texts(rng, 6) + NASTY
    readable = [text for text in adapted]
    vectorizations = [
        vectorization(options, readable if options.get("split") == "character" else adapted + NASTY, called)
        for options in [
            {},
            {"max_tokens": 8},
            {"output_sequence_length": 5},
            {"standardize": "lower"},
            {"standardize": "strip_punctuation", "ngrams": 2},
            {"standardize": None, "ngrams": (2, 3)},
            {"split": "character", "output_sequence_length": 40},
            {"split": None},
            {"output_mode": "multi_hot"},
            {"output_mode": "count", "max_tokens": 50, "pad_to_max_tokens": True},
            {"output_mode": "count", "ngrams": 2, "max_tokens": 12},
            {"output_mode": "tf_idf"},
            {"output_mode": "tf_idf", "max_tokens": 60, "pad_to_max_tokens": True},
            {"vocabulary": ["sea", "salt", "tide"]},
            {"vocabulary": ["", "[UNK]", "sea", "salt"], "output_sequence_length": 3},
            {"vocabulary": ["sea", "salt"], "output_mode": "tf_idf", "idf_weights": [0.25, 0.75]},
        ]
    ]
    words = [[rng.choice("abcdefgh") * rng.randint(1, 90) for _ in range(4)] for _ in range(12)]
    numbers = [[rng.randint(-30, 30) for _ in range(4)] for _ in range(12)]
    vocabulary, integers = ["a", "bb", "c", "d"], [3, -7, 11, 20]
    lookups = [
        lookup("StringLookup", {"vocabulary": vocabulary}, [["a", "c"], ["x", "d"]]),
        lookup("StringLookup", {"vocabulary": vocabulary, "mask_token": "", "num_oov_indices": 3}, words + [["", "", "bb", "q"]]),
        lookup("StringLookup", {"vocabulary": vocabulary, "num_oov_indices": 5, "salt": [133, 137]}, words),
        lookup("StringLookup", {"vocabulary": vocabulary, "invert": True}, [[0, 1, 4, 5, 99, -1]]),
        lookup("StringLookup", {"vocabulary": vocabulary, "invert": True, "mask_token": "m"}, [[0, 1, 2, 5, 6]]),
        lookup("StringLookup", {"vocabulary": vocabulary, "output_mode": "one_hot"}, ["a", "z", "d"]),
        lookup("StringLookup", {"vocabulary": vocabulary, "output_mode": "one_hot"}, [["a"], ["z"]]),
        lookup("StringLookup", {"vocabulary": vocabulary, "output_mode": "multi_hot"}, [["a", "z"], ["d", "d"]]),
        lookup("StringLookup", {"vocabulary": vocabulary, "output_mode": "count", "mask_token": "m"}, [["a", "m", "z"], ["d", "d", "m"]]),
        lookup("StringLookup", {"output_mode": "tf_idf"}, words, words),
        lookup("StringLookup", {"max_tokens": 5}, words, words),
        lookup("IntegerLookup", {"vocabulary": integers}, numbers),
        lookup("IntegerLookup", {"vocabulary": integers, "num_oov_indices": 4, "mask_token": 0}, numbers),
        lookup("IntegerLookup", {"vocabulary": integers, "num_oov_indices": 4, "oov_method": "farmhash"}, numbers),
        lookup("IntegerLookup", {"vocabulary": integers, "num_oov_indices": 4, "oov_method": "farmhash", "salt": [5, 9]}, numbers),
        lookup("IntegerLookup", {"vocabulary": integers, "invert": True}, [[0, 1, 3, 4, 77]]),
        lookup("IntegerLookup", {"vocabulary": integers, "output_mode": "count"}, numbers),
        lookup("IntegerLookup", {"max_tokens": 9}, numbers, numbers),
    ]
    farmhash = [{"text": "x" * size + str(size), "bucket": int(tf.strings.to_hash_bucket_fast("x" * size + str(size), 2**62))} for size in range(0, 200, 3)]
    series, targets = np.arange(40, dtype="float32"), np.arange(100, 140, dtype="float32")
    windows = []
    for options in [
        {"sequence_length": 5},
        {"sequence_length": 4, "sequence_stride": 3},
        {"sequence_length": 4, "sampling_rate": 5},
        {"sequence_length": 3, "sequence_stride": 2, "sampling_rate": 2, "start_index": 7, "end_index": 33},
        {"sequence_length": 6, "batch_size": 7, "targets": 40},
        {"sequence_length": 6, "batch_size": 7, "sequence_stride": 2, "targets": 20},
        {"sequence_length": 4, "start_index": 5, "end_index": 30, "targets": 40, "batch_size": 8},
    ]:
        arguments = {name: value for name, value in options.items() if name != "targets"}
        given = targets[: options["targets"]] if "targets" in options else None
        batches = []
        for batch in keras.utils.timeseries_dataset_from_array(series, given, **arguments):
            batches.append([result(part) for part in (batch if given is not None else [batch])])
        windows.append({"options": options, "batches": batches})
    print(json.dumps({"keras": keras.__version__, "vectorizations": vectorizations, "lookups": lookups,
                      "farmhash": farmhash, "windows": windows}, indent=None, separators=(",", ":")))


main()
