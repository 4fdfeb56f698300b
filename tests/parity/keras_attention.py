"""Attention layers, EinsumDense and the norms of Transformers: outputs, scores and gradients, with options and masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from common import Array, Recording, Shape, uniform
from keras_support import in_both, tensor

SEED = 31
QUERY: Shape = (2, 4, 6)  # [B, Tq, features]
VALUE: Shape = (2, 5, 6)  # [B, Tk, features]
INPUT, COTANGENT, KERNEL = 0, 10, 20  # streams; each counts up

VALUE_MASK = np.array([[1, 1, 1, 0, 1], [1, 1, 0, 0, 0]], dtype=bool)
QUERY_MASK = np.array([[1, 1, 0, 1], [1, 0, 0, 0]], dtype=bool)
# A key is seen where (query + 2 · key + batch) is no multiple of 3; every query sees some.
ATTENTION_MASK = np.fromfunction(lambda b, q, k: (q + 2 * k + b) % 3 != 0, (2, 4, 5)).astype(bool)
# The same, and the first key: with a causal mask, too, every query sees one.
FIRST_SEEN = ATTENTION_MASK | (np.arange(5) == 0)


def heads(**options: Any) -> keras.Layer:
    return layers.MultiHeadAttention(3, 4, **options)


def grouped(**options: Any) -> keras.Layer:
    return layers.GroupQueryAttention(4, 4, 2, **options)


# The layer, the shapes of its inputs, the arguments of its call.
Case = tuple[Callable[[], keras.Layer], list[Shape], dict[str, Any]]
CROSS, SELF, THREE = [QUERY, VALUE], [QUERY, QUERY], [QUERY, VALUE, VALUE]
SCORES: dict[str, Any] = {"return_attention_scores": True}
CAUSAL: dict[str, Any] = {"use_causal_mask": True}
CASES: dict[str, Case] = {
    "heads": (heads, CROSS, {}),
    "heads_key": (lambda: heads(value_dim=2, use_bias=False), THREE, {}),
    "heads_causal": (heads, SELF, CAUSAL),
    "heads_value_mask": (heads, CROSS, {"value_mask": VALUE_MASK}),
    "heads_mask": (heads, THREE, {"attention_mask": ATTENTION_MASK}),
    "heads_masks": (heads, CROSS, {"attention_mask": FIRST_SEEN, "value_mask": VALUE_MASK, **CAUSAL}),
    "heads_scores": (heads, CROSS, SCORES),
    "heads_scores_masked": (heads, CROSS, {"value_mask": VALUE_MASK, "query_mask": QUERY_MASK, **SCORES}),
    "heads_output": (lambda: heads(output_shape=(2, 3)), CROSS, {}),
    "heads_gate": (lambda: heads(use_gate=True), CROSS, {}),
    "heads_window": (lambda: heads(sliding_window=2), SELF, CAUSAL),
    "heads_axes": (lambda: heads(attention_axes=(2,)), [(2, 3, 4, 6), (2, 3, 5, 6)], {}),
    "heads_two_axes": (heads, [(2, 2, 3, 6), (2, 2, 3, 6)], {}),
    "grouped": (grouped, CROSS, {}),
    "grouped_causal": (lambda: grouped(use_bias=False), SELF, CAUSAL),
    "grouped_mask": (lambda: grouped(use_gate=True), CROSS, {"attention_mask": ATTENTION_MASK}),
    "grouped_scores": (grouped, CROSS, SCORES),
    "dot": (layers.Attention, CROSS, {}),
    "dot_key": (lambda: layers.Attention(use_scale=True), THREE, SCORES),
    "dot_causal": (layers.Attention, SELF, CAUSAL),
    "dot_masked": (layers.Attention, CROSS, {"mask": [QUERY_MASK, VALUE_MASK]}),
    "dot_concat": (lambda: layers.Attention(use_scale=True, score_mode="concat"), CROSS, SCORES),
    "additive": (layers.AdditiveAttention, CROSS, {}),
    "additive_masked": (layers.AdditiveAttention, THREE, {"mask": [QUERY_MASK, VALUE_MASK], **SCORES}),
    "additive_plain": (lambda: layers.AdditiveAttention(use_scale=False), SELF, CAUSAL),
    "einsum": (lambda: layers.EinsumDense("abc,cd->abd", (None, 3), bias_axes="d", activation="tanh"), [QUERY], {}),
    "einsum_heads": (lambda: layers.EinsumDense("...x,xyz->...yz", (2, 3), bias_axes="yz"), [QUERY], {}),
    "einsum_two": (lambda: layers.EinsumDense("abcd,cde->abe", (None, 5), bias_axes="e"), [(2, 3, 4, 2)], {}),
    "einsum_turned": (lambda: layers.EinsumDense("abc,cd->adb", (3, None), bias_axes="d"), [QUERY], {}),
    "einsum_stack": (lambda: layers.EinsumDense("abc,bcd->abd", (4, 3)), [QUERY], {}),
    "einsum_right": (lambda: layers.EinsumDense("ab...,bc->ac...", 3, bias_axes="c"), [QUERY], {}),
    "einsum_lost": (lambda: layers.EinsumDense("abc,cd->ad", 3), [QUERY], {}),
    "rms": (layers.RMSNormalization, [QUERY], {}),
    "rms_axes": (lambda: layers.RMSNormalization(axis=[1, 2], epsilon=0.01), [QUERY], {}),
    "group": (lambda: layers.GroupNormalization(3), [(2, 3, 4, 6)], {}),
    "group_axis": (lambda: layers.GroupNormalization(2, axis=1, epsilon=0.01), [(2, 4, 3)], {}),
    "group_each": (lambda: layers.GroupNormalization(-1, center=False), [QUERY], {}),
}


def call(layer: keras.Layer, inputs: list[tf.Tensor], arguments: dict[str, Any]) -> Any:
    given = {name: value for name, value in arguments.items() if name != "query_mask"}
    inputs = [tf.identity(x) for x in inputs]
    if isinstance(layer, (layers.MultiHeadAttention, layers.GroupQueryAttention)):
        if "query_mask" in arguments:  # Keras takes it from the query
            inputs[0]._keras_mask = tf.constant(arguments["query_mask"])
        return layer(*inputs, **given)
    if isinstance(layer, (layers.Attention, layers.AdditiveAttention)):
        return layer(inputs, **given)
    return layer(inputs[0])


def case(name: str, dtype: str) -> dict[str, Array]:
    make, shapes, arguments = CASES[name]
    layer = make()
    inputs = [tf.Variable(tensor(uniform(SEED, INPUT + i, shape, 1.0), dtype)) for i, shape in enumerate(shapes)]
    call(layer, inputs, arguments)
    for index, variable in enumerate(layer.trainable_variables):
        variable.assign(uniform(SEED, KERNEL + index, tuple(variable.shape), 0.75).astype(dtype))
    with tf.GradientTape() as tape:
        outputs = call(layer, inputs, arguments)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        loss = tf.add_n(
            [
                tf.reduce_sum(y * tensor(uniform(SEED, COTANGENT + i, tuple(y.shape), 1.0), dtype))
                for i, y in enumerate(outputs)
            ]
        )
    weights = [variable.value for variable in layer.trainable_variables]
    slopes = tape.gradient(loss, [*inputs, *weights], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    result = {f"output{i}": y.numpy() for i, y in enumerate(outputs)}
    result |= {f"gradient{i}": tf.convert_to_tensor(slope).numpy() for i, slope in enumerate(slopes)}
    return result


def record_attention(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    for name in CASES:
        exact, draw = in_both(lambda dtype: case(name, dtype))
        for what, value in exact.items():
            recording.add(f"{name}/{what}", value, [draw[what]])
    recording.save("attention", metadata)
