"""The workloads' models in Keras, as its guides write them. Every other worker's models follow these."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

from protocol import threads  # noqa: E402

SHAPES = {"cnn64": (28, 28, 1), "cnn32": (28, 28, 1), "residual": (32, 32, 3), "mlp": (784,), "photos": (96, 96, 3)}
LEARNING_RATE = 1e-4  # of the step workloads, so that the synthetic batches are not learnt by heart


def set_threads() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(threads())
    tf.config.threading.set_inter_op_parallelism_threads(threads())


def _cnn(first: int, second: int) -> keras.Model:
    """A small CNN: with 64 and 128 filters, or with 32 and 64."""
    return keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(first, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(second, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(10, activation="softmax"),
    ])


def _residual_block(x: keras.KerasTensor, filters: int, stride: int) -> keras.KerasTensor:
    y = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(y))
    if stride != 1:
        x = layers.BatchNormalization()(layers.Conv2D(filters, 1, strides=stride, use_bias=False)(x))
    return layers.Activation("relu")(layers.Add()([x, y]))


def _residual() -> keras.Model:
    """A ResNet of three blocks for 32x32 colour images: 32, 64 and 128 channels."""
    inputs = layers.Input((32, 32, 3))
    x = layers.Conv2D(32, 3, padding="same", use_bias=False)(inputs)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    for filters, stride in ((32, 1), (64, 2), (128, 2)):
        x = _residual_block(x, filters, stride)
    outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, outputs)


def _mlp() -> keras.Model:
    return keras.Sequential([
        layers.Input((784,)),
        layers.Dense(512, activation="relu"),
        layers.Dense(512, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ])


def _photos() -> keras.Model:
    """For uint8 photographs of 96x96: small, so that decoding weighs."""
    return keras.Sequential([
        layers.Input((96, 96, 3)),
        layers.Rescaling(1 / 255),
        layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10, activation="softmax"),
    ])


def build(name: str) -> keras.Model:
    return {"cnn64": lambda: _cnn(64, 128), "cnn32": lambda: _cnn(32, 64), "residual": _residual, "mlp": _mlp,
            "photos": _photos}[name]()


def compiled(name: str, jit: bool | str, learning_rate: float = 1e-3, metrics: tuple[str, ...] = (),
             steps_per_execution: int = 1) -> keras.Model:
    model = build(name)
    model.compile(optimizer=keras.optimizers.Adam(learning_rate), loss="sparse_categorical_crossentropy",
                  metrics=list(metrics), jit_compile=jit, steps_per_execution=steps_per_execution)
    return model
