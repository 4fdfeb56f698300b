"""Layers over time and masks: what Keras computes, and the gradients."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from common import Array, Recording, Shape, integers, uniform
from keras_support import in_both, tensor

SEED = 21
SEQUENCE: Shape = (2, 9, 4)  # [B, T, C]
INPUT, COTANGENT, WEIGHTS = 0, 1, 20  # streams
IDS, TARGETS, SAMPLE_WEIGHTS, STEP_WEIGHTS = 2, 3, 4, 5

LAYERS: dict[str, Callable[[], keras.Layer]] = {
    "conv": lambda: layers.Conv1D(6, 3),
    "conv_same": lambda: layers.Conv1D(6, 4, padding="same", activation="relu"),
    "conv_same_stride": lambda: layers.Conv1D(6, 4, strides=2, padding="same"),
    "conv_stride": lambda: layers.Conv1D(3, 2, strides=3, use_bias=False),
    "conv_dilated": lambda: layers.Conv1D(6, 3, dilation_rate=2),
    "conv_causal": lambda: layers.Conv1D(6, 3, padding="causal", activation="tanh"),
    "conv_causal_dilated": lambda: layers.Conv1D(6, 3, padding="causal", dilation_rate=3),
    "conv_causal_stride": lambda: layers.Conv1D(6, 2, padding="causal", strides=2),
    "conv_groups": lambda: layers.Conv1D(6, 3, padding="same", groups=2),
    "depthwise": lambda: layers.DepthwiseConv1D(3, depth_multiplier=2),
    "depthwise_same_stride": lambda: layers.DepthwiseConv1D(4, strides=2, padding="same"),
    "depthwise_dilated": lambda: layers.DepthwiseConv1D(2, padding="same", dilation_rate=2),
    "separable": lambda: layers.SeparableConv1D(5, 3, depth_multiplier=2),
    "separable_same": lambda: layers.SeparableConv1D(5, 4, padding="same", activation="relu"),
    "separable_stride": lambda: layers.SeparableConv1D(5, 3, strides=2, padding="same"),
    "transpose": lambda: layers.Conv1DTranspose(5, 3),
    "transpose_stride": lambda: layers.Conv1DTranspose(5, 3, strides=2),
    "transpose_wide_stride": lambda: layers.Conv1DTranspose(5, 2, strides=3),
    "transpose_same": lambda: layers.Conv1DTranspose(5, 4, strides=2, padding="same"),
    "transpose_same_odd": lambda: layers.Conv1DTranspose(5, 3, strides=2, padding="same", activation="relu"),
    "transpose_same_wide": lambda: layers.Conv1DTranspose(5, 2, strides=3, padding="same"),
    "transpose_more": lambda: layers.Conv1DTranspose(5, 3, strides=2, output_padding=1),
    "transpose_same_more": lambda: layers.Conv1DTranspose(5, 5, strides=3, padding="same", output_padding=2),
    "max_pool": lambda: layers.MaxPooling1D(),
    "max_pool_same": lambda: layers.MaxPooling1D(3, strides=2, padding="same"),
    "average_pool": lambda: layers.AveragePooling1D(2),
    "average_pool_same": lambda: layers.AveragePooling1D(3, strides=2, padding="same"),
    "global_average": lambda: layers.GlobalAveragePooling1D(),
    "global_average_keep": lambda: layers.GlobalAveragePooling1D(keepdims=True),
    "global_max": lambda: layers.GlobalMaxPooling1D(),
    "global_max_keep": lambda: layers.GlobalMaxPooling1D(keepdims=True),
    "zero_padding": lambda: layers.ZeroPadding1D(),
    "zero_padding_apart": lambda: layers.ZeroPadding1D((2, 0)),
    "cropping": lambda: layers.Cropping1D(),
    "cropping_apart": lambda: layers.Cropping1D((0, 3)),
    "up_sampling": lambda: layers.UpSampling1D(3),
}


def with_drawn_weights(layer: keras.Layer, dtype: str) -> list[tf.Variable]:
    for index, variable in enumerate(layer.trainable_variables):
        variable.assign(uniform(SEED, WEIGHTS + index, tuple(variable.shape), 1.0).astype(dtype))
    return [variable.value for variable in layer.trainable_variables]


def layer_case(make: Callable[[], keras.Layer], dtype: str) -> dict[str, Array]:
    """The output y, and the gradients of the sum of y times a drawn tensor."""
    layer = make()
    x = tf.Variable(tensor(uniform(SEED, INPUT, SEQUENCE, 1.0), dtype))
    layer.build(SEQUENCE)
    weights = with_drawn_weights(layer, dtype)
    with tf.GradientTape() as tape:
        y = layer(x)
        loss = tf.reduce_sum(y * tensor(uniform(SEED, COTANGENT, tuple(y.shape), 1.0), dtype))
    slopes = tape.gradient(loss, [x, *weights])
    result = {"output": y.numpy()}
    for index, slope in enumerate(slopes):
        result[f"gradient{index}"] = tf.convert_to_tensor(slope).numpy()
    return result


# --- masks -------------------------------------------------------------------------------------------------


def ids(stream: int = IDS) -> Array:
    """int64 [3, 7] below 5; 0 is padding."""
    return integers(SEED, stream, 21, 5).reshape(3, 7)


def masked(dtype: str) -> tf.Tensor:
    """float [3, 7, 4] with zeros where the id is 0."""
    values = uniform(SEED, INPUT, (3, 7, 4), 1.0) * (ids() != 0)[..., None]
    return tensor(values.astype(np.float32), dtype)


def network(body: Callable[[keras.KerasTensor], keras.KerasTensor], dtype: str) -> dict[str, Array]:
    """Of an input with Masking: the output, and the gradient of its product with a drawn tensor."""
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, body(layers.Masking()(inputs)))
    with_drawn_weights(model, dtype)
    x = tf.Variable(masked(dtype))
    with tf.GradientTape() as tape:
        y = model(x, training=True)
        loss = tf.reduce_sum(y * tensor(uniform(SEED, COTANGENT, tuple(y.shape), 1.0), dtype))
    result = {"output": y.numpy(), "gradient0": tape.gradient(loss, x).numpy()}
    for variable in model.non_trainable_variables:
        result[variable.name] = variable.numpy()
    return result


NETWORKS: dict[str, Callable[[keras.KerasTensor], keras.KerasTensor]] = {
    "pooled": lambda x: layers.GlobalAveragePooling1D()(layers.Dense(3, activation="tanh")(x)),
    "kept": lambda x: layers.GlobalAveragePooling1D(keepdims=True)(layers.LayerNormalization()(x)),
    "batch_norm": lambda x: layers.BatchNormalization()(x),
    "added": lambda x: layers.GlobalAveragePooling1D()(layers.Add()([x, layers.Dense(4)(x)])),
    "joined": lambda x: layers.GlobalAveragePooling1D()(layers.Concatenate()([x, layers.Conv1D(2, 1)(x)])),
    "in_a_row": lambda x: layers.GlobalAveragePooling1D()(layers.Concatenate(axis=1)([x, layers.Dense(4)(x)])),
    "dropped": lambda x: layers.GlobalAveragePooling1D()(layers.Conv1D(3, 2, padding="causal")(x)),
}

LOSSES: dict[str, tuple[Callable[[], keras.losses.Loss], str]] = {
    "mse": (keras.losses.MeanSquaredError, "reals"),
    "mae": (keras.losses.MeanAbsoluteError, "reals"),
    "huber": (keras.losses.Huber, "reals"),
    "sparse": (lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True), "ids"),
    "categorical": (lambda: keras.losses.CategoricalCrossentropy(from_logits=True), "one_hot"),
    "binary": (lambda: keras.losses.BinaryCrossentropy(from_logits=True), "one_hot"),
}
METRICS: dict[str, tuple[Callable[[], keras.metrics.Metric], str]] = {
    "sparse_accuracy": (keras.metrics.SparseCategoricalAccuracy, "ids"),
    "accuracy": (keras.metrics.CategoricalAccuracy, "one_hot"),
    "binary_accuracy": (keras.metrics.BinaryAccuracy, "one_hot"),
    "mse": (keras.metrics.MeanSquaredError, "reals"),
}


def targets(kind: str) -> Array:
    """For predictions [3, 7, 4]."""
    classes = integers(SEED, TARGETS, 21, 4).reshape(3, 7)
    if kind == "ids":
        return classes
    if kind == "one_hot":
        return np.eye(4, dtype=np.float32)[classes]
    return uniform(SEED, TARGETS, (3, 7, 4), 1.0)


WEIGHTINGS: dict[str, Callable[[], Array] | None] = {
    "plain": None,
    "samples": lambda: uniform(SEED, SAMPLE_WEIGHTS, (3, 1), 1.0, 1.0),  # Keras refuses (3,) beside a mask
    "steps": lambda: uniform(SEED, STEP_WEIGHTS, (3, 7), 1.0, 1.0),
}


def with_mask(y: tf.Tensor) -> tf.Tensor:
    y._keras_mask = tf.constant(ids() != 0)
    return y


def loss_case(make: Callable[[], keras.losses.Loss], kind: str, weighting: str, dtype: str) -> dict[str, Array]:
    weights = WEIGHTINGS[weighting]
    y_pred = tf.Variable(tensor(uniform(SEED, INPUT, (3, 7, 4), 1.0), dtype))
    with tf.GradientTape() as tape:
        value = make()(
            tensor(targets(kind), dtype),
            with_mask(tf.identity(y_pred)),
            sample_weight=None if weights is None else tensor(weights(), dtype),
        )
    return {"value": value.numpy(), "gradient0": tape.gradient(value, y_pred).numpy()}


def metric_case(make: Callable[[], keras.metrics.Metric], kind: str, weighting: str, dtype: str) -> dict[str, Array]:
    weights = WEIGHTINGS[weighting]
    metric = make()
    y_pred = tensor(uniform(SEED, INPUT, (3, 7, 4), 1.0), dtype)
    metric.update_state(
        tensor(targets(kind), dtype),
        with_mask(tf.identity(y_pred)),
        sample_weight=None if weights is None else tensor(weights(), dtype),
    )
    return {"value": np.asarray(metric.result())}


def record_sequences(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)

    def add(name: str, compute: Callable[[str], dict[str, Array]]) -> None:
        exact, draw = in_both(compute)
        for part, value in exact.items():
            recording.add(f"{name}/{part}", value, [draw[part]])

    for name, make in LAYERS.items():
        add(f"layer/{name}", lambda dtype: layer_case(make, dtype))
    for name, body in NETWORKS.items():
        add(f"masked/{name}", lambda dtype: network(body, dtype))
    for weighting in WEIGHTINGS:
        for name, (loss, kind) in LOSSES.items():
            add(f"loss/{name}/{weighting}", lambda dtype: loss_case(loss, kind, weighting, dtype))
        for name, (metric, kind) in METRICS.items():
            add(f"metric/{name}/{weighting}", lambda dtype: metric_case(metric, kind, weighting, dtype))
    recording.save("sequences", metadata)
