"""Ten steps of every optimiser on three small tensors: one with ordinary gradients, one with small ones of which the
first is always zero, and one whose gradients are about as small as Adam's epsilon."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import keras
import numpy as np

from common import Array, Recording, uniform
from keras_support import in_both, tensor, with_exact_constants

Options = dict[str, float | int | bool]

SEED = 5
STEPS = 10
SHAPES = ((3, 2), (5,), (4,))
# A clipnorm of 1 bites the first tensor in most steps, one of the others never; every second step is mild.
GRADIENT_LIMITS = (1.0, 0.25, 2.0**-22)

BASES: dict[str, tuple[Callable[..., keras.optimizers.Optimizer], Options]] = {
    "sgd": (keras.optimizers.SGD, {"learning_rate": 2.0**-4}),
    "sgd_momentum": (keras.optimizers.SGD, {"learning_rate": 2.0**-4, "momentum": 0.9}),
    "sgd_nesterov": (keras.optimizers.SGD, {"learning_rate": 2.0**-4, "momentum": 0.9, "nesterov": True}),
    "adam": (keras.optimizers.Adam, {"learning_rate": 2.0**-6}),
    "adam_amsgrad": (keras.optimizers.Adam, {"learning_rate": 2.0**-6, "amsgrad": True}),
    "adamw": (keras.optimizers.AdamW, {"learning_rate": 2.0**-6}),
    "rmsprop": (keras.optimizers.RMSprop, {"learning_rate": 2.0**-6}),
    "rmsprop_centered": (keras.optimizers.RMSprop, {"learning_rate": 2.0**-6, "centered": True}),
    "rmsprop_momentum": (keras.optimizers.RMSprop, {"learning_rate": 2.0**-6, "momentum": 0.9}),
    "adagrad": (keras.optimizers.Adagrad, {"learning_rate": 2.0**-6}),
    "lion": (keras.optimizers.Lion, {"learning_rate": 2.0**-6}),
}
VARIANTS: dict[str, Options] = {
    "": {},
    "+clipnorm": {"clipnorm": 1.0},
    "+clipvalue": {"clipvalue": 0.5},
    "+global_clipnorm": {"global_clipnorm": 1.0},
    "+weight_decay": {"weight_decay": 0.125},
    "+weight_decay+clipnorm": {"weight_decay": 0.125, "clipnorm": 1.0},
    "+accumulate": {"gradient_accumulation_steps": 2},
}


def starts() -> list[Array]:
    return [uniform(SEED, index, shape, 0.5) for index, shape in enumerate(SHAPES)]


def gradients(step: int) -> list[Array]:
    """Tensor i of step k is drawn from stream 100 + 10 k + i; odd steps have a quarter of the limit."""
    scale = 0.25 if step % 2 else 1.0
    drawn = [
        uniform(SEED, 100 + 10 * step + index, shape, limit * scale)
        for index, (shape, limit) in enumerate(zip(SHAPES, GRADIENT_LIMITS))
    ]
    drawn[1][0] = 0.0
    return drawn


def trajectory(make: Callable[[], keras.optimizers.Optimizer], dtype: str) -> list[Array]:
    """Per tensor its values after each step, [STEPS, ...]."""
    variables = [keras.Variable(start, dtype=dtype) for start in starts()]
    optimizer = with_exact_constants(make()) if dtype == "float64" else make()
    optimizer.build(variables)
    seen: list[list[Array]] = [[] for _ in variables]
    for step in range(STEPS):
        optimizer.apply([tensor(gradient, dtype) for gradient in gradients(step)], variables)
        for values, variable in zip(seen, variables):
            values.append(variable.numpy())
    return [np.stack(values) for values in seen]


def configurations() -> Iterator[tuple[str, Callable[[], keras.optimizers.Optimizer]]]:
    for base, (kind, options) in BASES.items():
        for suffix, variant in VARIANTS.items():
            yield base + suffix, lambda kind=kind, all_options={**options, **variant}: kind(**all_options)


def record_optimizers(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    recording.plain("gradient_limits", np.array(GRADIENT_LIMITS))
    for name, make in configurations():
        exact, draw = in_both(lambda dtype: trajectory(make, dtype))
        for index, values in enumerate(exact):
            recording.add_rows(f"{name}/{index}", values, [draw[index]])
    recording.save("optimizers", metadata)
