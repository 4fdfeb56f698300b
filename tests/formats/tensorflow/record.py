#!/usr/bin/env python3
"""Writes the TFRecord files beside it with TensorFlow, for test_tf_files.cpp, which needs no TensorFlow.

    record.py        writes them again (they hold the same values, whatever the version)
    record.py DIR    reads DIR/ours.tfrecord, which Stoker wrote, compares it with the same values, and writes them to
                     DIR/plain.theirs, gzip.theirs and zlib.theirs

Exit code 77 where TensorFlow is missing.
"""

import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

try:
    import tensorflow as tf
except ImportError as error:
    print(f"skipped: {error}; scripts/peers-setup.sh installs it")
    sys.exit(77)

HERE = Path(__file__).resolve().parent


def example(index):
    def feature(**lists):
        return tf.train.Feature(**lists)

    return tf.train.Example(features=tf.train.Features(feature={
        "index": feature(int64_list=tf.train.Int64List(value=[index, -index, 2**40])),
        "floats": feature(float_list=tf.train.FloatList(value=[index / 2, -1.5])),
        "text": feature(bytes_list=tf.train.BytesList(value=[b"record %d" % index, b"\x00\xff"])),
        "none": feature(int64_list=tf.train.Int64List(value=[])),
    }))


def write(path, compression):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for index in range(3):
            writer.write(example(index).SerializeToString(deterministic=True))


def check(path):
    records = [tf.train.Example.FromString(record.numpy()) for record in tf.data.TFRecordDataset(str(path))]
    assert records == [example(index) for index in range(3)], records
    print(f"{path.name}: {len(records)} records, equal")


def write_all(folder, ending):
    for kind, compression in [("plain", None), ("gzip", "GZIP"), ("zlib", "ZLIB")]:
        write(folder / f"{kind}{ending}", compression)


if len(sys.argv) == 2:
    check(Path(sys.argv[1]) / "ours.tfrecord")
    write_all(Path(sys.argv[1]), ".theirs")
else:
    write_all(HERE, ".tfrecord")
