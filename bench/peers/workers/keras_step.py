"""One training step in Keras: train_on_batch and fit, with and without XLA; the driver keeps the fastest."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping

from keras_models import LEARNING_RATE, SHAPES, build, compiled, set_threads
from protocol import Block, Loaded, serve
from samples import batches

import tensorflow as tf


def _train_on_batch(model_name: str, x: tf.Tensor, y: tf.Tensor, jit: bool | str) -> Block:
    model = compiled(model_name, jit, LEARNING_RATE)
    pairs = itertools.cycle([(x[index], y[index]) for index in range(x.shape[0])])

    def run(n: int) -> Mapping[str, Any]:
        loss = 0.0
        for features, labels in itertools.islice(pairs, n):
            loss = model.train_on_batch(features, labels)
        return {"loss": float(loss)}

    return run


def _fit(model_name: str, x: tf.Tensor, y: tf.Tensor, jit: bool | str, steps_per_execution: int = 1) -> Block:
    model = compiled(model_name, jit, LEARNING_RATE, steps_per_execution=steps_per_execution)
    data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().prefetch(tf.data.AUTOTUNE)

    def run(n: int) -> Mapping[str, Any]:
        history = model.fit(data, steps_per_epoch=n, epochs=1, verbose=0)
        return {"loss": history.history["loss"][-1]}

    return run


def load(workload: dict[str, Any]) -> Loaded:
    name = workload["model"]
    features, labels = batches(SHAPES[name], workload["batch"])
    x, y = tf.constant(features), tf.constant(labels)
    variants: dict[str, Callable[[], Block]] = {
        "train_on_batch, jit_compile=auto": lambda: _train_on_batch(name, x, y, "auto"),
        "train_on_batch, no XLA": lambda: _train_on_batch(name, x, y, False),
        "fit, jit_compile=auto": lambda: _fit(name, x, y, "auto"),
        "fit, no XLA": lambda: _fit(name, x, y, False),
    }
    if not workload.get("quick"):
        variants["fit, no XLA, steps_per_execution=8"] = lambda: _fit(name, x, y, False, 8)
    return Loaded(variants, {"parameters": count_trainable(name)})


def count_trainable(name: str) -> int:
    return sum(int(tf.size(variable.value)) for variable in build(name).trainable_variables)


if __name__ == "__main__":
    set_threads()
    serve(load)
