"""Running a piece of Keras in both precisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import keras
import numpy as np
import tensorflow as tf

from common import Array

Result = TypeVar("Result")


@contextmanager
def precision(dtype: str) -> Iterator[None]:
    """Every layer, loss, metric and optimiser made inside computes in `dtype`."""
    before = keras.config.floatx()
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    try:
        yield
    finally:
        keras.config.set_floatx(before)
        keras.config.set_dtype_policy(before)


def in_both(compute: Callable[[str], Result]) -> tuple[Result, Result]:
    """The float64 and the float32 result of compute(dtype)."""
    with precision("float64"):
        exact = compute("float64")
    with precision("float32"):
        draw = compute("float32")
    return exact, draw


def with_exact_constants(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """For float64: an optimiser casts a Python float such as beta_2 by way of float32, but not a NumPy one."""
    names = ("beta_1", "beta_2", "momentum", "rho", "epsilon", "initial_accumulator_value")
    for name in (*names, "weight_decay", "clipnorm", "clipvalue", "global_clipnorm"):
        if isinstance(getattr(optimizer, name, None), float):
            setattr(optimizer, name, np.float64(getattr(optimizer, name)))
    return optimizer


def tensor(values: Array, dtype: str) -> tf.Tensor:
    """Floats in `dtype`, whole numbers as they are."""
    return tf.constant(values.astype(dtype) if values.dtype == np.float32 else values)
