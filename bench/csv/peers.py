#!/usr/bin/env python3
"""Rows per second of pandas and of tf.data, for bench_csv: reads FOLDER/numbers.csv and mixed.csv, prints "NAME RATE"."""

import os
import statistics
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
ROUNDS = 3
BATCH = 1024


def rate(rows, step):
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return rows / statistics.median(seconds)


def pandas_rates(paths, rows):
    import pandas

    for name, path in paths.items():
        print("pandas_" + name, rate(rows, lambda: pandas.read_csv(path)))


def tfdata_rates(paths, rows):
    import tensorflow as tf

    def walk(path):
        dataset = tf.data.experimental.make_csv_dataset(
            path, BATCH, label_name="label", num_epochs=1, shuffle=False, num_parallel_reads=2
        )
        for _ in dataset.prefetch(tf.data.AUTOTUNE):
            pass

    for name, path in paths.items():
        print("tfdata_" + name, rate(rows, lambda: walk(path)))


def main():
    folder = sys.argv[1]
    paths = {name: os.path.join(folder, name + ".csv") for name in ("numbers", "mixed")}
    with open(paths["numbers"]) as file:
        rows = sum(1 for _ in file) - 1
    for measure in (pandas_rates, tfdata_rates):
        try:
            measure(paths, rows)
        except ImportError as error:
            print(error, file=sys.stderr)


main()
