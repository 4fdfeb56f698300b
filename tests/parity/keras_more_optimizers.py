"""Ten steps of the optimisers of more_optimizers.safetensors, on the tensors and gradients of keras_optimizers."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from common import Array, Recording
from keras_optimizers import GRADIENT_LIMITS, SEED, STEPS, Options, gradients, starts
from keras_support import in_both, tensor

O = keras.optimizers
RATE = {"learning_rate": 2.0**-6}
BASES: dict[str, tuple[Callable[..., keras.optimizers.Optimizer], Options]] = {
    "nadam": (O.Nadam, RATE),
    "adamax": (O.Adamax, RATE),
    "adadelta": (O.Adadelta, {"learning_rate": 1.0}),
    "adafactor": (O.Adafactor, RATE),
    "lamb": (O.Lamb, RATE),
    "ftrl": (O.Ftrl, RATE),
    "ftrl_regularized": (
        O.Ftrl,
        {
            **RATE,
            "learning_rate_power": -0.75,
            "l1_regularization_strength": 0.125,
            "l2_regularization_strength": 0.25,
            "l2_shrinkage_regularization_strength": 0.5,
            "beta": 0.125,
        },
    ),
    "muon": (O.Muon, RATE),
    "schedule_free": (O.ScheduleFreeAdamW, RATE),
    "schedule_free_warm": (O.ScheduleFreeAdamW, {**RATE, "warmup_steps": 4}),
}
VARIANTS: dict[str, Options] = {
    "": {},
    "+clipnorm": {"clipnorm": 1.0},
    "+weight_decay": {"weight_decay": 0.125},
    "+accumulate": {"gradient_accumulation_steps": 2},
}
AVERAGES: dict[str, Options] = {
    "+ema": {"use_ema": True, "ema_momentum": 0.75},
    "+ema+overwrite": {"use_ema": True, "ema_momentum": 0.75, "ema_overwrite_frequency": 3},
}
CONSTANTS = (
    "beta_1", "beta_2", "rho", "epsilon", "initial_accumulator_value", "weight_decay", "clipnorm", "adam_beta_1",
    "adam_beta_2", "adam_weight_decay", "momentum", "rms_rate", "muon_a", "muon_b", "muon_c", "beta_2_decay",
    "epsilon_1", "epsilon_2", "learning_rate_power", "ema_momentum",
)  # fmt: skip


class Copied(keras.Variable):
    """What .value gave stays as it was. On TensorFlow it is the variable itself, so that ScheduleFreeAdamW's
    `momentum_old` would be the new momentum; on Keras's other backends it is the old one."""

    @property
    def value(self) -> tf.Tensor:
        return tf.identity(super().value)


def trajectory(make: Callable[[], keras.optimizers.Optimizer], dtype: str) -> list[Array]:
    """Per tensor its values after each step, [STEPS, ...]; then those of its average, if there is one."""
    variables = [keras.Variable(start, dtype=dtype) for start in starts()]
    optimizer = make()
    if dtype == "float64":  # a Python float is cast by way of float32, a NumPy one is not
        for name in CONSTANTS:
            if isinstance(getattr(optimizer, name, None), float):
                setattr(optimizer, name, np.float64(getattr(optimizer, name)))
    optimizer.build(variables)
    if isinstance(optimizer, O.ScheduleFreeAdamW):
        optimizer.assign_sub = lambda variable, value: variable.assign(variable.value - value)
        for momentum in optimizer._momentums:
            momentum.__class__ = Copied
    shown = list(variables)
    if optimizer.use_ema:
        shown += optimizer._model_variables_moving_average
    seen: list[list[Array]] = [[] for _ in shown]
    for step in range(STEPS):
        optimizer.apply([tensor(gradient, dtype) for gradient in gradients(step)], variables)
        for values, variable in zip(seen, shown):
            values.append(np.array(variable))
    return [np.stack(values) for values in seen]


def record_more_optimizers(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    recording.plain("gradient_limits", np.array(GRADIENT_LIMITS))
    cases = [(base, suffix, kind, {**options, **variant})
             for base, (kind, options) in BASES.items() for suffix, variant in VARIANTS.items()]
    for base, kind in (("sgd", O.SGD), ("adam", O.Adam), ("nadam", O.Nadam)):
        cases += [(base, suffix, kind, {**RATE, **variant}) for suffix, variant in AVERAGES.items()]
    for base, suffix, kind, options in cases:
        exact, draw = in_both(lambda dtype: trajectory(lambda: kind(**options), dtype))
        for index, values in enumerate(exact):
            recording.add_rows(f"{base}{suffix}/{index}", values, [draw[index]])
    recording.save("more_optimizers", metadata)
