#!/usr/bin/env python3
"""Networks of bench_zoo in Keras on TensorFlow, for turns.py: those of keras.applications and the short ones.

    keras_peer.py --serve NAME:BATCH [--jit]      steps on request (serving.py); exit status 3: it has no such network
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402
from serving import serve  # noqa: E402

APPLICATIONS = {"resnet50": "ResNet50", "mobilenet_v1": "MobileNet", "efficientnet_b0": "EfficientNetB0",
                "convnext_tiny": "ConvNeXtTiny", "densenet121": "DenseNet121"}
SIDES = {"vgg_cifar": 32, "unet": 160}
CLASSES = {"vgg_cifar": 10, "unet": 3}


def conv_bn(x, filters: int):
    x = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(x))
    return layers.ReLU()(x)


def twice(x, filters: int):
    return conv_bn(conv_bn(x, filters), filters)


def vgg_cifar():
    inputs = x = keras.Input((32, 32, 3))
    for filters in (64, 128, 256, 512):
        x = layers.MaxPooling2D()(twice(x, filters))
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x)))


def unet():
    inputs = x = keras.Input((160, 160, 3))
    skipped = []
    for filters in (64, 128, 256):
        x = twice(x, filters)
        skipped.append(x)
        x = layers.MaxPooling2D()(x)
    x = twice(x, 512)
    for filters in (256, 128, 64):
        x = twice(layers.Concatenate()([layers.UpSampling2D()(x), skipped.pop()]), filters)
    return keras.Model(inputs, layers.Conv2D(3, 1, activation="softmax")(x))


def mlp_big():
    inputs = x = keras.Input((1024,))
    for _ in range(4):
        x = layers.Dense(4096, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(1000, activation="softmax")(x))


def make(name: str):
    if name in APPLICATIONS:
        return getattr(keras.applications, APPLICATIONS[name])(weights=None)
    short = {"vgg_cifar": vgg_cifar, "unet": unet, "mlp_big": mlp_big}.get(name)
    return short() if short else None


def main() -> int:
    name, batch = sys.argv[2].split(":")
    model = make(name)
    if model is None:
        return 3
    side, classes = SIDES.get(name, 224), CLASSES.get(name, 1000)
    shape = (1024,) if name == "mlp_big" else (side, side, 3)
    x = np.random.default_rng(1).random((int(batch), *shape), dtype="float32")
    y = np.random.default_rng(2).integers(0, classes, (int(batch), *((side, side) if name == "unet" else ())))
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile="--jit" in sys.argv)
    serve(lambda: model.train_on_batch(x, y))
    return 0


if __name__ == "__main__":
    sys.exit(main())
