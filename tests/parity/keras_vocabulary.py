"""The losses, metrics, constraints and regularisers of vocabulary.safetensors."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from common import Array, Recording, integers, uniform
from keras_support import in_both, tensor
from keras_values import bits, labels, logits, one_hot, probabilities, reals, sample_weights

SEED = 7  # that of keras_values, whose targets and predictions these are

# --- losses ------------------------------------------------------------------------------------------------


def signs() -> Array:
    return (2 * bits() - 1).astype(np.float32)


def shares() -> Array:
    """Rows of probabilities that sum to about 1."""
    drawn = probabilities()
    return (drawn / drawn.sum(axis=1, keepdims=True, dtype=np.float32)).astype(np.float32)


def counts() -> Array:
    return integers(SEED, 90, 30, 4).reshape(6, 5).astype(np.float32)


def some_ignored() -> Array:
    """Labels of which two are -1."""
    drawn = labels()
    drawn[1] = drawn[4] = -1
    return drawn


def masks() -> Array:
    return integers(SEED, 93, 96, 2).reshape(4, 4, 6).astype(np.float32)


def mask_probabilities() -> Array:
    return uniform(SEED, 94, (4, 4, 6), 0.5, 0.5)


def embeddings() -> Array:
    return uniform(SEED, 95, (6, 3), 0.5)


def pairs() -> Array:
    return np.array([0, 1, 0, 1, 2, 0])


def texts() -> Array:
    """Labels [3, 3] of 4 classes, padded with 0, with one that repeats."""
    return np.array([[1, 2, 2], [3, 0, 0], [2, 1, 0]])


def text_logits() -> Array:
    return uniform(SEED, 96, (3, 7, 4), 2.0)


LossCase = tuple[Callable[[], keras.losses.Loss], Callable[[], Array], Callable[[], Array]]
L = keras.losses
LOSSES: dict[str, LossCase] = {
    "kl_divergence": (lambda: L.KLDivergence(), shares, probabilities),
    "poisson": (lambda: L.Poisson(), counts, probabilities),
    "binary_focal": (lambda: L.BinaryFocalCrossentropy(), bits, probabilities),
    "binary_focal_balanced": (
        lambda: L.BinaryFocalCrossentropy(apply_class_balancing=True, alpha=0.3, gamma=1.5, label_smoothing=0.125),
        bits,
        probabilities,
    ),
    "binary_focal_logits": (lambda: L.BinaryFocalCrossentropy(from_logits=True), bits, logits),
    "categorical_focal": (lambda: L.CategoricalFocalCrossentropy(), one_hot, probabilities),
    "categorical_focal_logits": (
        lambda: L.CategoricalFocalCrossentropy(
            alpha=[0.125, 0.25, 0.5, 0.25, 0.75], gamma=1.0, from_logits=True, label_smoothing=0.125
        ),
        one_hot,
        logits,
    ),
    "generalized": (lambda: L.CategoricalGeneralizedCrossEntropy(), labels, probabilities),
    "cosine_similarity": (lambda: L.CosineSimilarity(), reals, logits),
    "mape": (lambda: L.MeanAbsolutePercentageError(), reals, logits),
    "msle": (lambda: L.MeanSquaredLogarithmicError(), counts, logits),
    "log_cosh": (lambda: L.LogCosh(), reals, logits),
    "hinge": (lambda: L.Hinge(), signs, logits),
    "hinge_bits": (lambda: L.Hinge(), bits, logits),
    "squared_hinge": (lambda: L.SquaredHinge(), signs, logits),
    "categorical_hinge": (lambda: L.CategoricalHinge(), one_hot, logits),
    "dice": (lambda: L.Dice(), masks, mask_probabilities),
    "dice_axis": (lambda: L.Dice(axis=(1, 2)), masks, mask_probabilities),
    "tversky": (lambda: L.Tversky(alpha=0.25, beta=0.75), masks, mask_probabilities),
    "tversky_axis": (lambda: L.Tversky(axis=(1, 2)), masks, mask_probabilities),
    "circle": (lambda: L.Circle(gamma=4.0), pairs, embeddings),
    "circle_diagonal": (lambda: L.Circle(gamma=4.0, margin=0.25, remove_diagonal=False), pairs, embeddings),
    "ctc": (lambda: L.CTC(), texts, text_logits),
    "sparse_ignored": (
        lambda: L.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1),
        some_ignored,
        logits,
    ),
    "mse_sum": (lambda: L.MeanSquaredError(reduction="sum"), reals, logits),
    "mse_none": (lambda: L.MeanSquaredError(reduction="none"), reals, logits),
    "mse_by_weights": (lambda: L.MeanSquaredError(reduction="mean_with_sample_weight"), reals, logits),
    "ignored_sum": (
        lambda: L.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1, reduction="sum"),
        some_ignored,
        logits,
    ),
}
# The log-likelihood of TensorFlow is float32 whatever it is given.
FLOAT32_LOSSES = ("ctc",)


def loss_case(case: LossCase, dtype: str) -> dict[str, Array]:
    make, y_true, y_pred = case
    targets, predictions = tensor(y_true(), dtype), tf.Variable(tensor(y_pred(), dtype))
    loss = make()
    with tf.GradientTape() as tape:
        value = loss(targets, predictions)
    results = {
        "values": np.asarray(loss.call(targets, predictions)),
        "value": np.asarray(value),
        "gradient": np.asarray(tape.gradient(value, predictions)),
    }
    if results["values"].shape == (6,):
        results["weighted"] = np.asarray(loss(targets, predictions, tensor(sample_weights(), dtype)))
    return results


def record_losses(recording: Recording) -> None:
    for name, case in LOSSES.items():
        exact, draw = in_both(lambda dtype: loss_case(case, dtype))
        for part, value in exact.items():
            if name in FLOAT32_LOSSES:
                recording.result(f"loss/{name}/{part}", value, 2.0**-20 * float(np.max(np.abs(value))))
            else:
                recording.add(f"loss/{name}/{part}", value, [draw[part]])


# --- metrics -----------------------------------------------------------------------------------------------

BATCH, CLASSES = 16, 8


def scores(step: int) -> Array:
    return (integers(SEED, 30 + step, BATCH * CLASSES, 5).reshape(BATCH, CLASSES) / 4).astype(np.float32)


def classes(step: int) -> Array:
    return integers(SEED, 40 + step, BATCH, CLASSES)


def one_hot_classes(step: int) -> Array:
    return np.eye(CLASSES, dtype=np.float32)[classes(step)]


def verdicts(step: int) -> Array:
    return (integers(SEED, 50 + step, BATCH, 9).reshape(BATCH, 1) / 8).astype(np.float32)


def truths(step: int) -> Array:
    return integers(SEED, 60 + step, BATCH, 2).reshape(BATCH, 1).astype(np.float32)


def many_truths(step: int) -> Array:
    return integers(SEED, 64 + step, BATCH * CLASSES, 2).reshape(BATCH, CLASSES).astype(np.float32)


def guesses(step: int) -> Array:
    return integers(SEED, 66 + step, BATCH, CLASSES)


def numbers(step: int) -> Array:
    return uniform(SEED, 72 + step, (BATCH, CLASSES), 2.0)


def predicted_numbers(step: int) -> Array:
    return uniform(SEED, 74 + step, (BATCH, CLASSES), 2.0)


def raw_scores(step: int) -> Array:
    return uniform(SEED, 76 + step, (BATCH, CLASSES), 4.0)


def weights(step: int) -> Array | None:
    """The first batch has none."""
    return None if step == 0 else uniform(SEED, 70, (BATCH,), 1.0, 1.0)


MetricCase = tuple[Callable[[], keras.metrics.Metric], Callable[[int], Array], Callable[[int], Array]]
M = keras.metrics
METRICS: dict[str, MetricCase] = {
    "precision_thresholds": (lambda: M.Precision(thresholds=[0.75, 0.25]), truths, verdicts),
    "precision_top": (lambda: M.Precision(top_k=2), one_hot_classes, scores),
    "recall_class": (lambda: M.Recall(class_id=3), one_hot_classes, scores),
    "recall_top_class": (lambda: M.Recall(top_k=3, class_id=1), one_hot_classes, scores),
    "true_positives": (lambda: M.TruePositives(), truths, verdicts),
    "true_negatives": (lambda: M.TrueNegatives(thresholds=[0.25, 0.5]), truths, verdicts),
    "false_positives": (lambda: M.FalsePositives(), many_truths, scores),
    "false_negatives": (lambda: M.FalseNegatives(thresholds=0.25), many_truths, scores),
    "sensitivity_at": (lambda: M.SensitivityAtSpecificity(0.5), truths, verdicts),
    "specificity_at": (lambda: M.SpecificityAtSensitivity(0.5, num_thresholds=20), truths, verdicts),
    "precision_at": (lambda: M.PrecisionAtRecall(0.5), truths, verdicts),
    "recall_at": (lambda: M.RecallAtPrecision(0.5, num_thresholds=1), truths, verdicts),
    "auc": (lambda: M.AUC(), truths, verdicts),
    "auc_pr": (lambda: M.AUC(curve="PR"), truths, verdicts),
    "auc_pr_minoring": (lambda: M.AUC(curve="PR", summation_method="minoring", num_thresholds=9), truths, verdicts),
    "auc_majoring": (lambda: M.AUC(summation_method="majoring", thresholds=[0.3, 0.55, 0.9]), truths, verdicts),
    "auc_gain": (lambda: M.AUC(curve="PRGAIN"), truths, verdicts),
    "auc_labels": (lambda: M.AUC(multi_label=True), many_truths, scores),
    "auc_labels_pr": (
        lambda: M.AUC(multi_label=True, curve="PR", label_weights=[1, 2, 3, 4, 0, 1, 2, 1.5]),
        many_truths,
        scores,
    ),
    "auc_logits": (lambda: M.AUC(from_logits=True), many_truths, raw_scores),
    "f1": (lambda: M.F1Score(), many_truths, scores),
    "f1_macro": (lambda: M.F1Score(average="macro", threshold=0.5), many_truths, scores),
    "fbeta_micro": (lambda: M.FBetaScore(average="micro", beta=2.0, threshold=0.25), many_truths, scores),
    "fbeta_weighted": (lambda: M.FBetaScore(average="weighted", beta=0.5), one_hot_classes, scores),
    "rmse": (lambda: M.RootMeanSquaredError(), numbers, predicted_numbers),
    "cosine_similarity": (lambda: M.CosineSimilarity(), numbers, predicted_numbers),
    "pearson": (lambda: M.PearsonCorrelation(), numbers, predicted_numbers),
    "concordance": (lambda: M.ConcordanceCorrelation(), numbers, predicted_numbers),
    "r2": (lambda: M.R2Score(), numbers, predicted_numbers),
    "r2_variance": (
        lambda: M.R2Score(class_aggregation="variance_weighted_average", num_regressors=3),
        numbers,
        predicted_numbers,
    ),
    "r2_each": (lambda: M.R2Score(class_aggregation=None), numbers, predicted_numbers),
    "mape": (lambda: M.MeanAbsolutePercentageError(), numbers, predicted_numbers),
    "msle": (lambda: M.MeanSquaredLogarithmicError(), many_truths, predicted_numbers),
    "log_cosh": (lambda: M.LogCoshError(), numbers, predicted_numbers),
    "poisson": (lambda: M.Poisson(), many_truths, scores),
    "kl_divergence": (lambda: M.KLDivergence(), one_hot_classes, scores),
    "hinge": (lambda: M.Hinge(), many_truths, predicted_numbers),
    "squared_hinge": (lambda: M.SquaredHinge(), many_truths, predicted_numbers),
    "categorical_hinge": (lambda: M.CategoricalHinge(), one_hot_classes, predicted_numbers),
    "binary_crossentropy": (lambda: M.BinaryCrossentropy(from_logits=True), many_truths, raw_scores),
    "categorical_crossentropy": (lambda: M.CategoricalCrossentropy(label_smoothing=0.125), one_hot_classes, scores),
    "sparse_categorical_crossentropy": (
        lambda: M.SparseCategoricalCrossentropy(from_logits=True),
        classes,
        raw_scores,
    ),
    "iou": (lambda: M.IoU(CLASSES, [1, 3, 4]), classes, guesses),
    "mean_iou": (lambda: M.MeanIoU(CLASSES, ignore_class=2), classes, guesses),
    "one_hot_iou": (lambda: M.OneHotIoU(CLASSES, [0, 5]), one_hot_classes, raw_scores),
    "one_hot_mean_iou": (lambda: M.OneHotMeanIoU(CLASSES), one_hot_classes, raw_scores),
    "binary_iou": (lambda: M.BinaryIoU([0, 1], threshold=0.25), many_truths, scores),
}
# Keras makes whole numbers of their weights.
UNWEIGHTED = ("iou", "mean_iou", "one_hot_iou", "one_hot_mean_iou", "binary_iou")
# Of exact zeros and ones, which float64 moves inside by less than float32 can.
FLOAT32_METRICS = ("categorical_crossentropy",)


def metric_case(name: str, case: MetricCase, dtype: str) -> Array:
    make, y_true, y_pred = case
    metric = make()
    results: list[Array] = []
    for step in (0, 1):
        weight = None if name in UNWEIGHTED else weights(step)
        metric.update_state(
            tensor(y_true(step), dtype),
            tensor(y_pred(step), dtype),
            None if weight is None else tensor(weight, dtype),
        )
        results.append(np.ravel(np.asarray(metric.result(), dtype=np.float64)))
    return np.concatenate(results)


def record_metrics(recording: Recording) -> None:
    for name, case in METRICS.items():
        if name in FLOAT32_METRICS:
            value = metric_case(name, case, "float32")
            recording.result(f"metric/{name}", value, 2.0**-22 * float(np.max(np.abs(value))))
            continue
        exact, draw = in_both(lambda dtype: metric_case(name, case, dtype))
        recording.add(f"metric/{name}", exact, [draw])


# --- constraints and regularisers --------------------------------------------------------------------------


def weight() -> Array:
    return uniform(SEED, 97, (6, 4), 2.0)


C = keras.constraints
CONSTRAINTS: dict[str, Callable[[], keras.constraints.Constraint]] = {
    "max_norm": lambda: C.MaxNorm(),
    "max_norm_rows": lambda: C.MaxNorm(max_value=1.5, axis=1),
    "max_norm_all": lambda: C.MaxNorm(max_value=3, axis=[0, 1]),
    "non_neg": lambda: C.NonNeg(),
    "unit_norm": lambda: C.UnitNorm(),
    "min_max_norm": lambda: C.MinMaxNorm(min_value=2.5, max_value=3.0, rate=0.75, axis=1),
}
R = keras.regularizers
REGULARIZERS: dict[str, Callable[[], keras.regularizers.Regularizer]] = {
    "l1": lambda: R.L1(0.125),
    "l2": lambda: R.L2(),
    "l1_l2": lambda: R.L1L2(l1=0.25, l2=0.5),
    "orthogonal_rows": lambda: R.OrthogonalRegularizer(factor=0.5),
    "orthogonal_columns": lambda: R.OrthogonalRegularizer(factor=0.25, mode="columns"),
}


def regularizer_case(make: Callable[[], keras.regularizers.Regularizer], dtype: str) -> tuple[Array, Array]:
    variable = tf.Variable(tensor(weight(), dtype))
    regularizer = make()
    if hasattr(regularizer, "factor"):  # a float32 constant otherwise
        regularizer.factor = tf.cast(regularizer.factor, dtype)
    with tf.GradientTape() as tape:
        value = regularizer(variable)
    return np.asarray(value), np.asarray(tape.gradient(value, variable))


def record_weights(recording: Recording) -> None:
    for name, make in CONSTRAINTS.items():
        exact, draw = in_both(lambda dtype: np.asarray(make()(tensor(weight(), dtype))))
        recording.add(f"constraint/{name}", exact, [draw])
    for name, make_regularizer in REGULARIZERS.items():
        both, draws = in_both(lambda dtype: regularizer_case(make_regularizer, dtype))
        for part, value, noisy in zip(("value", "gradient"), both, draws):
            recording.add(f"regularizer/{name}/{part}", value, [noisy])


def record_vocabulary(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    record_losses(recording)
    record_metrics(recording)
    record_weights(recording)
    recording.save("vocabulary", metadata)
