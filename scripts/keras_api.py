#!/usr/bin/env python3
"""Writes scripts/keras_api.txt: the public names of Keras, of its layers and models, and of tf.data.Dataset, which scripts/keras_az.py looks for.

    scripts/keras_api.py        where Keras 3 and TensorFlow are installed
"""

import inspect
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

MODULES = (
    "layers losses metrics optimizers optimizers.schedules callbacks initializers regularizers constraints activations "
    "ops ops.image random utils utils.bounding_boxes applications models saving mixed_precision dtype_policies quantizers distribution "
    "distillation config visualization wrappers export tree"
).split()


def public(owner):
    """Without modules, and without what stands in a module of its own."""
    return sorted(n for n in dir(owner) if not n.startswith("_") and not inspect.ismodule(getattr(owner, n)))


def main():
    import keras
    import tensorflow as tf

    lines = [f"# Made by scripts/keras_api.py from Keras {keras.__version__} and TensorFlow {tf.__version__}."]
    for module in MODULES:
        owner = keras
        for part in module.split("."):
            owner = getattr(owner, part)
        lines.append(f"keras.{module}: {' '.join(public(owner))}")
    lines.append(f"keras.datasets: {' '.join(n for n in dir(keras.datasets) if not n.startswith('_'))}")
    lines.append(f"keras: {' '.join(public(keras))}")
    of_layer = set(public(keras.Layer))
    of_model = set(public(keras.Sequential)) | set(public(type(keras.Model(i := keras.Input((1,)), i))))
    lines.append(f"keras.Layer: {' '.join(sorted(of_layer))}")
    lines.append(f"keras.Model: {' '.join(sorted(of_model - of_layer))}")
    lines.append(f"tf.data.Dataset: {' '.join(public(tf.data.Dataset))}")
    readers = [name for name in public(tf.data) if name.endswith("Dataset") and name != "Dataset"]
    lines.append(f"tf.data: {' '.join(readers)}")
    Path(__file__).with_name("keras_api.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
