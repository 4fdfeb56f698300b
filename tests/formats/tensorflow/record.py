#!/usr/bin/env python3
"""Writes the TFRecord files beside it with TensorFlow, for test_tf_files.cpp, which needs no TensorFlow.

    record.py            writes them again (they hold the same values, whatever the version)
    record.py --check F  reads F, which Stoker wrote, and compares it with the same values
"""

import sys
from pathlib import Path

import tensorflow as tf

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


def write(name, options):
    with tf.io.TFRecordWriter(str(HERE / name), options) as writer:
        for index in range(3):
            writer.write(example(index).SerializeToString(deterministic=True))


def check(path):
    records = [tf.train.Example.FromString(record.numpy()) for record in tf.data.TFRecordDataset(path)]
    assert records == [example(index) for index in range(3)], records
    print(f"{path}: {len(records)} records, equal")


if len(sys.argv) == 3 and sys.argv[1] == "--check":
    check(sys.argv[2])
else:
    write("plain.tfrecord", None)
    write("gzip.tfrecord", "GZIP")
    write("zlib.tfrecord", "ZLIB")
