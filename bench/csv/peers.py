#!/usr/bin/env python3
"""pandas and tf.data for bench_csv. Reads requests "PEER TABLE" from its input, reads FOLDER/TABLE.csv as PEER does and answers
"done" and the CPU seconds it took, or with the reason why it cannot.

pandas: read_csv with its C engine and the dtypes that it infers. pandas_typed: with the dtypes that Stoker gives. pandas_arrow: with the
engine of pyarrow, which uses all cores."""

import functools
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
BATCH = 1024


@functools.cache
def dtypes(path):
    import pandas

    inferred = pandas.read_csv(path, nrows=100).dtypes
    return {name: "float32" if dtype == "float64" else dtype for name, dtype in inferred.items()}


def pandas(path):
    import pandas

    pandas.read_csv(path, engine="c")


def pandas_typed(path):
    import pandas

    pandas.read_csv(path, engine="c", dtype=dtypes(path))


def pandas_arrow(path):
    import pandas

    pandas.read_csv(path, engine="pyarrow")


def tfdata(path):
    import tensorflow as tf

    dataset = tf.data.experimental.make_csv_dataset(path, BATCH, label_name="label", num_epochs=1, shuffle=False, num_parallel_reads=2)
    for _ in dataset.prefetch(tf.data.AUTOTUNE):
        pass


PEERS = {peer.__name__: peer for peer in (pandas, pandas_typed, pandas_arrow, tfdata)}


def main():
    for line in sys.stdin:
        name, table = line.split()
        try:
            before = time.process_time()
            PEERS[name](os.path.join(sys.argv[1], table + ".csv"))
            print("done", time.process_time() - before, flush=True)
        except Exception as error:  # said by bench_csv
            print(repr(error).replace("\n", " "), flush=True)


main()
