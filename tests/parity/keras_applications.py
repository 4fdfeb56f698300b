"""keras.applications: names and shapes of all weights of every network, and what the smaller ones compute.

Weights are drawn as in common.py: the one that is number i in the order of names from stream i, with a range that follows
from its name and shape. applications.json has for every case the number of weights and parameters, and the SHA-256 of the
lines "NAME [SHAPE]", sorted. `python3 keras_applications.py CASE` prints those lines.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable

import keras
import numpy as np
from keras import applications

from common import HERE, Array, Recording, Shape, uniform
from keras_support import precision

sys.path.insert(0, str(HERE.parents[1] / "scripts"))
from keras_weights import weights_of  # noqa: E402

SEED = 60
IMAGES = 100_000  # stream
CLASSES = 7

# The same in tests/parity/application_cases.h.
VARIANTS: dict[str, Callable[[], keras.Model]] = {
    "VGG16 features": lambda: applications.VGG16(weights=None, include_top=False),
    "VGG19 features": lambda: applications.VGG19(weights=None, include_top=False, pooling="max"),
    "ResNet50 gray": lambda: applications.ResNet50(weights=None, input_shape=(64, 48, 1), classes=3),
    "MobileNet half": lambda: applications.MobileNet(weights=None, alpha=0.5, depth_multiplier=2),
    "MobileNetV2 wide": lambda: applications.MobileNetV2(weights=None, alpha=1.4, input_shape=(96, 96, 3)),
    "MobileNetV3Small minimalistic": lambda: applications.MobileNetV3Small(weights=None, minimalistic=True),
    "MobileNetV3Large wide": lambda: applications.MobileNetV3Large(weights=None, alpha=1.25),
    "MobileNetV3Large features": lambda: applications.MobileNetV3Large(weights=None, include_top=False, alpha=0.75),
    "EfficientNetB0 gray": lambda: applications.EfficientNetB0(weights=None, input_shape=(33, 47, 1)),
    "EfficientNetV2B0 plain": lambda: applications.EfficientNetV2B0(weights=None, include_preprocessing=False),
    "ConvNeXtTiny features": lambda: applications.ConvNeXtTiny(weights=None, include_top=False, pooling="avg"),
    "ConvNeXtTiny named": lambda: applications.ConvNeXtTiny(weights=None, name="mine", classes=5),
}

# Networks that are run, and the side of their pictures. Odd sides show where padding depends on them.
RUN: dict[str, int] = {
    "VGG16": 32,
    "ResNet50": 33,
    "ResNet50V2": 32,
    "DenseNet121": 32,
    "Xception": 71,
    "InceptionV3": 75,
    "InceptionResNetV2": 75,
    "NASNetMobile": 32,
    "EfficientNetB0": 33,
    "EfficientNetV2B0": 32,
    "EfficientNetV2S": 32,
    "ConvNeXtTiny": 32,
    "MobileNet": 32,
    "MobileNetV2": 35,
    "MobileNetV3Small": 37,
    "MobileNetV3Large": 32,
}
SCALES_ITSELF = ("EfficientNet", "MobileNetV3", "ConvNeXt")


def names() -> list[str]:
    return sorted(name for name in dir(applications) if name[0].isupper())


def fresh(make: Callable[[], keras.Model]) -> keras.Model:
    """In a session of its own, where layers without a name count from 0."""
    keras.backend.clear_session()
    return make()


def lines(model: keras.Model) -> list[str]:
    return sorted(f"{name} {list(weight.shape)}" for name, weight in weights_of(model))


def structure(model: keras.Model) -> dict[str, object]:
    text = "\n".join(lines(model))
    return {
        "name": model.name,
        "weights": len(model.weights),
        "parameters": model.count_params(),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def drawn_weight(stream: int, name: str, shape: Shape) -> Array | None:
    """None: stays as it is."""
    kind = name.rsplit("/", 1)[1]
    if kind == "count":
        return None
    if kind in ("gamma", "moving_variance", "variance", "variable"):
        return uniform(SEED, stream, shape, 0.5, 1.0)
    if kind in ("beta", "bias", "moving_mean", "mean"):
        return uniform(SEED, stream, shape, 0.125)
    depthwise = len(shape) == 4 and (shape[3] == 1 or "depthwise" in kind)
    fan = shape[0] * shape[1] if depthwise else math.prod(shape[:-1])
    return uniform(SEED, stream, shape, float(np.float32(math.sqrt(6.0 / fan))))


def set_weights(model: keras.Model) -> None:
    for stream, (name, weight) in enumerate(sorted(weights_of(model), key=lambda each: each[0])):
        values = drawn_weight(stream, name, tuple(weight.shape))
        if values is not None:
            weight.assign(values)
    for layer in model.layers:
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()  # takes them over


def images(name: str, side: int) -> Array:
    if name.startswith(SCALES_ITSELF):
        return uniform(SEED, IMAGES, (2, side, side, 3), 128.0, 128.0)
    return uniform(SEED, IMAGES, (2, side, side, 3), 1.0)


def logits(name: str, side: int, dtype: str) -> list[Array]:
    """Of two pictures: together and, in float32, also one by one."""
    with precision(dtype):
        make = getattr(applications, name)
        shape = (side, side, 3)
        if name == "VGG16":  # its top has 100 million weights
            model = fresh(lambda: make(weights=None, input_shape=shape, include_top=False, pooling="avg"))
        else:
            model = fresh(lambda: make(weights=None, input_shape=shape, classes=CLASSES, classifier_activation=None))
        set_weights(model)
        x = images(name, side).astype(dtype)
        results = [np.asarray(model(x, training=False))]
        if dtype == "float32":
            results.append(np.concatenate([np.asarray(model(x[i : i + 1], training=False)) for i in range(2)]))
            results.append(np.asarray(model(x[::-1], training=False))[::-1])
        return results


def record_applications(metadata: dict[str, str]) -> None:
    cases = {name: structure(fresh(lambda name=name: getattr(applications, name)(weights=None))) for name in names()}
    cases |= {name: structure(fresh(make)) for name, make in VARIANTS.items()}
    text = json.dumps({"made_by": metadata, "cases": cases}, indent=1)
    (HERE / "applications.json").write_text(text + "\n", encoding="utf-8")
    print(f"applications.json: {len(cases)} cases")
    recording = Recording()
    recording.whole_number("seed", SEED)
    for name, side in RUN.items():
        recording.whole_number(f"side/{name}", side)
        recording.add(name, logits(name, side, "float64")[0], logits(name, side, "float32"))
        print(name, recording.tensors[name][0][:3], recording.tensors[f"noise/{name}"])
    recording.save("applications", metadata)


if __name__ == "__main__":
    for case in sys.argv[1:]:
        make = VARIANTS.get(case) or (lambda case=case: getattr(applications, case)(weights=None))
        print("\n".join(lines(fresh(make))))
