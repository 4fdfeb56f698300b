"""Layers in which Keras has a rule of its own: "same" padding with even windows and strides, and the moving statistics
of batch normalisation."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from common import Array, Recording, Shape, uniform
from keras_support import in_both, tensor

SEED = 6
IMAGE: Shape = (1, 7, 8, 2)
WINDOWS = ((2, 2), (3, 3), (4, 4), (2, 5))
STRIDES = (1, 2, 3)
INPUT, KERNEL, COTANGENT = 0, 1, 2  # streams


def same_layer(kind: str, window: tuple[int, int], stride: int) -> keras.Layer:
    if kind == "conv":
        return layers.Conv2D(3, window, strides=stride, padding="same", use_bias=False)
    if kind == "depthwise":
        return layers.DepthwiseConv2D(window, strides=stride, padding="same", depth_multiplier=2, use_bias=False)
    pooling = layers.MaxPooling2D if kind == "max_pool" else layers.AveragePooling2D
    return pooling(window, strides=stride, padding="same")


def same_case(kind: str, window: tuple[int, int], stride: int, dtype: str) -> dict[str, Array]:
    """The output y, and the gradients of the sum of y times a drawn tensor."""
    layer = same_layer(kind, window, stride)
    x = tf.Variable(tensor(uniform(SEED, INPUT, IMAGE, 1.0), dtype))
    layer.build(IMAGE)
    for variable in layer.trainable_variables:
        variable.assign(uniform(SEED, KERNEL, tuple(variable.shape), 1.0).astype(dtype))
    with tf.GradientTape() as tape:
        y = layer(x)
        loss = tf.reduce_sum(y * tensor(uniform(SEED, COTANGENT, tuple(y.shape), 1.0), dtype))
    weights = [variable.value for variable in layer.trainable_variables]
    slopes = tape.gradient(loss, [x, *weights])
    result = {"output": y.numpy(), "input_gradient": slopes[0].numpy()}
    if weights:
        result["kernel_gradient"] = slopes[1].numpy()
    return result


def record_same(recording: Recording) -> None:
    for kind in ("conv", "depthwise", "max_pool", "average_pool"):
        for window in WINDOWS:
            for stride in STRIDES:
                exact, draw = in_both(lambda dtype: same_case(kind, window, stride, dtype))
                for name, value in exact.items():
                    recording.add(f"same/{kind}_{window[0]}x{window[1]}_stride{stride}/{name}", value, [draw[name]])


BATCH_NORMS: dict[str, dict[str, float | bool]] = {
    "default": {},
    "momentum": {"momentum": 0.75, "epsilon": 0.03125},
    "plain": {"momentum": 0.5, "center": False, "scale": False},
}
NORM_SHAPES: dict[str, Shape] = {"image": (4, 3, 3, 5), "vector": (6, 5)}


def batch_norm_case(options: dict[str, float | bool], shape: Shape, dtype: str) -> dict[str, Array]:
    """Three steps on batches of streams 10, 11, 12 with means and spreads of their own, then inference on stream 13."""
    layer = layers.BatchNormalization(**options)
    layer.build(shape)
    for index, variable in enumerate(layer.trainable_variables):
        variable.assign(uniform(SEED, 20 + index, tuple(variable.shape), 0.5, 1.0).astype(dtype))
    batches = [uniform(SEED, 10 + step, shape, 2.0**step, 2.0 * step) for step in range(4)]
    result = {f"step{step}": layer(tensor(batches[step], dtype), training=True).numpy() for step in range(3)}
    result["moving_mean"] = layer.moving_mean.numpy()
    result["moving_variance"] = layer.moving_variance.numpy()
    result["inference"] = layer(tensor(batches[3], dtype), training=False).numpy()
    return result


def record_batch_norm(recording: Recording) -> None:
    for options_name, options in BATCH_NORMS.items():
        for shape_name, shape in NORM_SHAPES.items():
            exact, draw = in_both(lambda dtype: batch_norm_case(options, shape, dtype))
            for name, value in exact.items():
                recording.add(f"batch_norm/{options_name}_{shape_name}/{name}", value, [draw[name]])


def record_layers(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    record_same(recording)
    record_batch_norm(recording)
    recording.save("layers", metadata)
