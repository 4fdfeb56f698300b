"""Recurrent layers and their wrappers: outputs, last states and gradients, with every option and with masks."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from common import Array, Recording, uniform
from keras_support import in_both, tensor

SEED = 8
BATCH, LENGTH, FEATURES, UNITS = 3, 5, 4, 3
INPUT, STATE, COTANGENT, KERNEL = 0, 1, 10, 20  # streams; the last three count up

# A mask with gaps, at the beginning too, and one with steps at the end only. Bools as numbers: [B, T].
MASKS: dict[str, Array | None] = {
    "plain": None,
    "gaps": np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1], [1, 1, 1, 1, 1]], dtype=bool),
    "padded": np.array([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=bool),
}

CASES: dict[str, Callable[[], keras.Layer]] = {
    "simple": lambda: layers.SimpleRNN(UNITS),
    "simple_sequences": lambda: layers.SimpleRNN(UNITS, return_sequences=True),
    "simple_relu": lambda: layers.SimpleRNN(UNITS, activation="relu", return_state=True),
    "simple_softsign": lambda: layers.SimpleRNN(UNITS, activation="softsign", use_bias=False),
    "lstm": lambda: layers.LSTM(UNITS),
    "lstm_all": lambda: layers.LSTM(UNITS, return_sequences=True, return_state=True),
    "lstm_backwards": lambda: layers.LSTM(UNITS, return_sequences=True, go_backwards=True),
    "lstm_backwards_last": lambda: layers.LSTM(UNITS, go_backwards=True, return_state=True),
    "lstm_no_bias": lambda: layers.LSTM(UNITS, use_bias=False, return_sequences=True),
    "lstm_elu": lambda: layers.LSTM(UNITS, activation="elu", recurrent_activation="softsign", return_state=True),
    "gru": lambda: layers.GRU(UNITS),
    "gru_all": lambda: layers.GRU(UNITS, return_sequences=True, return_state=True),
    "gru_backwards": lambda: layers.GRU(UNITS, return_sequences=True, go_backwards=True),
    "gru_no_bias": lambda: layers.GRU(UNITS, use_bias=False),
    "gru_reset_before": lambda: layers.GRU(UNITS, reset_after=False, return_sequences=True),
    "gru_softsign": lambda: layers.GRU(UNITS, activation="softsign", recurrent_activation="tanh"),
    "rnn_lstm": lambda: layers.RNN(layers.LSTMCell(UNITS), return_sequences=True),
    "rnn_zeros": lambda: layers.RNN(layers.GRUCell(UNITS), return_sequences=True, zero_output_for_mask=True),
    "rnn_stacked": lambda: layers.RNN(
        [layers.LSTMCell(UNITS), layers.GRUCell(2), layers.SimpleRNNCell(UNITS)], return_sequences=True
    ),
    "both_concat": lambda: layers.Bidirectional(layers.LSTM(UNITS)),
    "both_sequences": lambda: layers.Bidirectional(layers.GRU(UNITS, return_sequences=True)),
    "both_sum": lambda: layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True), merge_mode="sum"),
    "both_mul": lambda: layers.Bidirectional(layers.SimpleRNN(UNITS), merge_mode="mul"),
    "both_ave": lambda: layers.Bidirectional(layers.GRU(UNITS, reset_after=False), merge_mode="ave"),
    "both_none": lambda: layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True), merge_mode=None),
    "both_own": lambda: layers.Bidirectional(
        layers.LSTM(UNITS), backward_layer=layers.GRU(UNITS, go_backwards=True)
    ),
    "distributed": lambda: layers.TimeDistributed(layers.Dense(2, activation="tanh")),
}
# With initial states: how many.
STATES = {"simple_relu": 1, "lstm_all": 2, "lstm_backwards_last": 2, "lstm_elu": 2, "gru_all": 1}


def case(name: str, mask: Array | None, dtype: str) -> dict[str, Array]:
    layer = CASES[name]()
    x = tf.Variable(tensor(uniform(SEED, INPUT, (BATCH, LENGTH, FEATURES), 1.0), dtype))
    states = [
        tf.Variable(tensor(uniform(SEED, STATE + i, (BATCH, UNITS), 0.5), dtype)) for i in range(STATES.get(name, 0))
    ]
    layer.build((BATCH, LENGTH, FEATURES))
    for index, variable in enumerate(layer.trainable_variables):
        variable.assign(uniform(SEED, KERNEL + index, tuple(variable.shape), 0.75).astype(dtype))
    arguments = {"initial_state": states} if states else {}
    with tf.GradientTape() as tape:
        outputs = layer(x, mask=None if mask is None else tf.constant(mask), **arguments)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        loss = tf.add_n(
            [
                tf.reduce_sum(y * tensor(uniform(SEED, COTANGENT + i, tuple(y.shape), 1.0), dtype))
                for i, y in enumerate(outputs)
            ]
        )
    weights = [variable.value for variable in layer.trainable_variables]
    slopes = tape.gradient(loss, [x, *states, *weights])
    result = {f"output{i}": y.numpy() for i, y in enumerate(outputs)}
    result |= {f"gradient{i}": tf.convert_to_tensor(slope).numpy() for i, slope in enumerate(slopes)}
    return result


def record_recurrent(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    for name in CASES:
        for kind, mask in MASKS.items():
            exact, draw = in_both(lambda dtype: case(name, mask, dtype))
            for what, value in exact.items():
                recording.add(f"{name}/{kind}/{what}", value, [draw[what]])
    recording.save("recurrent", metadata)
