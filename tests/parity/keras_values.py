"""Losses, metrics, activations and the limits of initialisers."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
from keras.src.initializers import random_initializers

from common import EPS, Array, Recording, Shape, integers, uniform
from keras_support import in_both, tensor

SEED = 7
BATCH, CLASSES = 6, 5


# --- losses ------------------------------------------------------------------------------------------------


def labels() -> Array:
    return integers(SEED, 0, BATCH, CLASSES)


def one_hot() -> Array:
    return np.eye(CLASSES, dtype=np.float32)[labels()]


def bits() -> Array:
    return integers(SEED, 1, BATCH * CLASSES, 2).reshape(BATCH, CLASSES).astype(np.float32)


def reals() -> Array:
    return uniform(SEED, 2, (BATCH, CLASSES), 2.0)


def probabilities() -> Array:
    """In (0, 1); rows do not sum to 1, which Keras repairs in a categorical crossentropy."""
    return uniform(SEED, 3, (BATCH, CLASSES), 0.5, 0.5)


def logits() -> Array:
    return uniform(SEED, 4, (BATCH, CLASSES), 4.0)


def certainties() -> Array:
    """Probabilities of exactly 0 and 1, right and wrong ones, which Keras moves inside by its epsilon of 1e-7."""
    return integers(SEED, 5, BATCH * CLASSES, 2).reshape(BATCH, CLASSES).astype(np.float32)


def sample_weights() -> Array:
    return uniform(SEED, 6, (BATCH,), 1.0, 1.0)


LossCase = tuple[Callable[[], keras.losses.Loss], Callable[[], Array], Callable[[], Array]]
LOSSES: dict[str, LossCase] = {
    "sparse_categorical": (lambda: keras.losses.SparseCategoricalCrossentropy(), labels, probabilities),
    "sparse_categorical_logits": (
        lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        labels,
        logits,
    ),
    "categorical": (lambda: keras.losses.CategoricalCrossentropy(), one_hot, probabilities),
    "categorical_logits": (lambda: keras.losses.CategoricalCrossentropy(from_logits=True), one_hot, logits),
    "categorical_smooth": (
        lambda: keras.losses.CategoricalCrossentropy(label_smoothing=0.125),
        one_hot,
        probabilities,
    ),
    "categorical_smooth_logits": (
        lambda: keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.125),
        one_hot,
        logits,
    ),
    "binary": (lambda: keras.losses.BinaryCrossentropy(), bits, probabilities),
    "binary_logits": (lambda: keras.losses.BinaryCrossentropy(from_logits=True), bits, logits),
    "binary_smooth": (lambda: keras.losses.BinaryCrossentropy(label_smoothing=0.125), bits, probabilities),
    "binary_smooth_logits": (
        lambda: keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.125),
        bits,
        logits,
    ),
    "binary_certain": (lambda: keras.losses.BinaryCrossentropy(), bits, certainties),
    "mean_squared_error": (lambda: keras.losses.MeanSquaredError(), reals, logits),
    "mean_absolute_error": (lambda: keras.losses.MeanAbsoluteError(), reals, logits),
    "huber": (lambda: keras.losses.Huber(), reals, logits),
    "huber_half": (lambda: keras.losses.Huber(delta=0.5), reals, logits),
}


def loss_case(case: LossCase, dtype: str) -> dict[str, Array]:
    make, y_true, y_pred = case
    targets, predictions = tensor(y_true(), dtype), tf.Variable(tensor(y_pred(), dtype))
    loss = make()
    with tf.GradientTape() as tape:
        value = loss(targets, predictions)
    return {
        "per_sample": loss.call(targets, predictions).numpy(),
        "value": value.numpy(),
        "weighted": loss(targets, predictions, tensor(sample_weights(), dtype)).numpy(),
        "gradient": tape.gradient(value, predictions).numpy(),
    }


def record_losses(recording: Recording) -> None:
    for name, case in LOSSES.items():
        exact, draw = in_both(lambda dtype: loss_case(case, dtype))
        for part, value in exact.items():
            recording.add(f"loss/{name}/{part}", value, [draw[part]])


# --- metrics -----------------------------------------------------------------------------------------------

METRIC_BATCH, METRIC_CLASSES = 16, 8


def scores(step: int) -> Array:
    """Quarters, so that many are equal: which of equals counts is part of the result."""
    drawn = integers(SEED, 30 + step, METRIC_BATCH * METRIC_CLASSES, 5)
    return (drawn.reshape(METRIC_BATCH, METRIC_CLASSES) / 4).astype(np.float32)


def classes(step: int) -> Array:
    return integers(SEED, 40 + step, METRIC_BATCH, METRIC_CLASSES)


def one_hot_classes(step: int) -> Array:
    return np.eye(METRIC_CLASSES, dtype=np.float32)[classes(step)]


def verdicts(step: int) -> Array:
    """Probabilities [B, 1] in eighths: some are exactly at a threshold."""
    return (integers(SEED, 50 + step, METRIC_BATCH, 9).reshape(METRIC_BATCH, 1) / 8).astype(np.float32)


def truths(step: int) -> Array:
    return integers(SEED, 60 + step, METRIC_BATCH, 2).reshape(METRIC_BATCH, 1).astype(np.float32)


def metric_weights(step: int) -> Array | None:
    """The first batch has none."""
    return None if step == 0 else uniform(SEED, 70, (METRIC_BATCH,), 1.0, 1.0)


MetricCase = tuple[Callable[[], keras.metrics.Metric], Callable[[int], Array], Callable[[int], Array]]
METRICS: dict[str, MetricCase] = {
    "sparse_categorical_accuracy": (lambda: keras.metrics.SparseCategoricalAccuracy(), classes, scores),
    "categorical_accuracy": (lambda: keras.metrics.CategoricalAccuracy(), one_hot_classes, scores),
    "binary_accuracy": (lambda: keras.metrics.BinaryAccuracy(), truths, verdicts),
    "binary_accuracy_quarter": (lambda: keras.metrics.BinaryAccuracy(threshold=0.25), truths, verdicts),
    "top_2": (lambda: keras.metrics.TopKCategoricalAccuracy(k=2), one_hot_classes, scores),
    "top_5": (lambda: keras.metrics.TopKCategoricalAccuracy(), one_hot_classes, scores),
    "sparse_top_3": (lambda: keras.metrics.SparseTopKCategoricalAccuracy(k=3), classes, scores),
    "precision": (lambda: keras.metrics.Precision(), truths, verdicts),
    "precision_quarter": (lambda: keras.metrics.Precision(thresholds=0.25), truths, verdicts),
    "recall": (lambda: keras.metrics.Recall(), truths, verdicts),
    "recall_quarter": (lambda: keras.metrics.Recall(thresholds=0.25), truths, verdicts),
    "mean_squared_error": (lambda: keras.metrics.MeanSquaredError(), one_hot_classes, scores),
    "mean_absolute_error": (lambda: keras.metrics.MeanAbsoluteError(), one_hot_classes, scores),
}


FLOAT32_ONLY = {"top_2", "top_5", "sparse_top_3"}  # tf.math.in_top_k


def metric_case(case: MetricCase, dtype: str) -> Array:
    """The result after the first batch and after both."""
    make, y_true, y_pred = case
    metric = make()
    results: list[float] = []
    for step in range(2):
        weights = metric_weights(step)
        metric.update_state(
            tensor(y_true(step), dtype),
            tensor(y_pred(step), dtype),
            None if weights is None else tensor(weights, dtype),
        )
        results.append(float(metric.result()))
    return np.array(results)


def record_metrics(recording: Recording) -> None:
    for name, case in METRICS.items():
        if name in FLOAT32_ONLY:
            recording.result(f"metric/{name}", metric_case(case, "float32"), 0.0)
            continue
        exact, draw = in_both(lambda dtype: metric_case(case, dtype))
        recording.add(f"metric/{name}", exact, [draw])


def record_losses_and_metrics(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    record_losses(recording)
    record_metrics(recording)
    recording.save("losses", metadata)


# --- activations -------------------------------------------------------------------------------------------

ELEMENTWISE = (
    "celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_shrink",
    "softplus", "softsign", "squareplus", "swish", "tanh", "tanh_shrink",
)  # fmt: skip
BY_ROW = ("softmax", "log_softmax")
# Those that saturate, and whose gradient everybody takes from the value y: how it changes with y.
SLOPE_BY_VALUE: dict[str, Callable[[Array], Array]] = {
    "celu": lambda y: y < 0,
    "elu": lambda y: y < 0,
    "selu": lambda y: y < 0,
    "sigmoid": lambda y: 1 - 2 * y,
    "tanh": lambda y: -2 * y,
}


def grid() -> Array:
    """Off the kinks, which lie at multiples of 1/2, and as far as sigmoid and exponential stay normal numbers."""
    fine = np.arange(-80, 80) / 10 + 0.013
    far = np.array([12.5, 20.25, 30.125])
    return np.concatenate([-far[::-1], fine, far]).astype(np.float32)


def activation_case(name: str, x: Array, weights: Array, dtype: str) -> tuple[Array, Array]:
    variable = tf.Variable(tensor(x, dtype))
    with tf.GradientTape() as tape:
        y = keras.activations.get(name)(variable)
        loss = tf.reduce_sum(y * tensor(weights, dtype))
    return np.asarray(y), np.asarray(tape.gradient(loss, variable))


def noise_by_element(exact: Array, reach: Array, draw: Array) -> Array:
    """The largest error of float32 relative to `reach` among five neighbours on the grid, but at least one rounding.
    The reach is what a rounding of relative size 1 would do to the result."""
    error = np.abs(draw.astype(np.float64) - exact) / np.maximum(reach, np.finfo(np.float32).tiny)
    padded = np.pad(error, 2, mode="edge")
    around = np.max([padded[shift : shift + len(exact)] for shift in range(5)], axis=0)
    return reach * np.maximum(around, EPS)


def record_activations(metadata: dict[str, str]) -> None:
    recording = Recording()
    x = grid()
    recording.plain("grid", x)
    for name in ELEMENTWISE:
        ones = np.ones_like(x)
        exact, draw = in_both(lambda dtype: activation_case(name, x, ones, dtype))
        value, slope = exact
        bend = np.gradient(slope, x.astype(np.float64))
        value_reach = np.abs(value) + np.abs(x * slope)
        slope_reach = np.abs(slope) + np.abs(x * bend)
        if name in SLOPE_BY_VALUE:
            slope_reach += np.abs(value * SLOPE_BY_VALUE[name](value))
        recording.result(f"{name}/value", value, noise_by_element(value, value_reach, draw[0]))
        recording.result(f"{name}/gradient", slope, noise_by_element(slope, slope_reach, draw[1]))
    rows, weights = uniform(SEED, 80, (6, 7), 8.0), uniform(SEED, 81, (6, 7), 1.0)
    for name in BY_ROW:
        exact, draw = in_both(lambda dtype: activation_case(name, rows, weights, dtype))
        recording.add(f"{name}/value", exact[0], [draw[0]])
        recording.add(f"{name}/gradient", exact[1], [draw[1]])
    recording.whole_number("seed", SEED)
    recording.save("activations", metadata)


# --- initialisers ------------------------------------------------------------------------------------------

INITIALIZERS = (
    "glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "lecun_normal", "random_uniform",
    "truncated_normal",
)  # fmt: skip
INITIAL_SHAPES: dict[str, Shape] = {"vector": (4096,), "dense": (48, 96), "conv": (3, 3, 16, 32), "depthwise": (5, 5, 64, 2)}


def limit_of(name: str, shape: Shape) -> float:
    """What the initialiser asks of Keras's random numbers: the ends of a uniform range, or two deviations of a normal
    distribution that is cut there."""
    asked: list[float] = []

    def uniform_of(shape: Shape, minval: float, maxval: float, **options: object) -> Array:
        assert minval == -maxval
        asked.append(maxval)
        return keras.random.uniform(shape, minval, maxval, **options)

    def truncated_normal_of(shape: Shape, mean: float, stddev: float, **options: object) -> Array:
        assert mean == 0
        asked.append(2 * stddev)
        return keras.random.truncated_normal(shape, mean, stddev, **options)

    initializer = keras.initializers.get({"class_name": name, "config": {"seed": 1}})
    spy = SimpleNamespace(uniform=uniform_of, truncated_normal=truncated_normal_of)
    with mock.patch.object(random_initializers, "random", spy):
        drawn = initializer(shape)
    reached = float(np.max(np.abs(np.asarray(drawn))))
    assert 0.95 * asked[0] < reached <= asked[0] * (1 + EPS), name
    return asked[0]


def record_initializers(metadata: dict[str, str]) -> None:
    recording = Recording()
    for shape_name, shape in INITIAL_SHAPES.items():
        recording.whole_number(f"shape/{shape_name}", shape)
        for name in INITIALIZERS:
            recording.plain(f"limit/{name}/{shape_name}", limit_of(name, shape))
    recording.save("initializers", metadata)
