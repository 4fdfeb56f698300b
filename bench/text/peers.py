#!/usr/bin/env python3
"""Lines per second of Keras and of the package tokenizers, for bench_text: reads FOLDER/lines.txt, prints "NAME RATE".

Trains FOLDER/tokenizer.json when it is not there, for both sides to use.
"""

import os
import statistics
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
ROUNDS = 3


def rate(lines, step):
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return lines / statistics.median(seconds)


def keras_rates(path, count):
    import keras
    import tensorflow as tf

    lines = tf.data.TextLineDataset(path).batch(1024)

    def walk(dataset):
        for _ in dataset:
            pass

    layer = keras.layers.TextVectorization(max_tokens=20_000, output_sequence_length=32)
    print("keras_lines", rate(count, lambda: walk(lines.prefetch(tf.data.AUTOTUNE))))
    print("keras_adapt", rate(count, lambda: layer.adapt(lines)))
    mapped = lines.map(layer, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    print("keras_vectorize", rate(count, lambda: walk(mapped)))


def tokenizer_rates(path, file, texts):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    if not os.path.exists(file):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=8_000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        tokenizer.train_from_iterator(texts[:50_000], trainer)
        tokenizer.save(file)
    tokenizer = Tokenizer.from_file(file)

    def encode():
        for begin in range(0, len(texts), 1024):
            tokenizer.encode_batch(texts[begin : begin + 1024])

    print("tokenizers", rate(len(texts), encode))


def main():
    folder = sys.argv[1]
    path = os.path.join(folder, "lines.txt")
    with open(path) as file:
        texts = file.read().splitlines()
    for measure in (lambda: tokenizer_rates(path, os.path.join(folder, "tokenizer.json"), texts), lambda: keras_rates(path, len(texts))):
        try:
            measure()
        except ImportError as error:
            print(error, file=sys.stderr)


main()
