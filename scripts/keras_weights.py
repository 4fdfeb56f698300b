#!/usr/bin/env python3
"""Writes the weights of a Keras model as a safetensors file whose names Stoker's models have too.

    scripts/keras_weights.py MODEL OUT.safetensors [--no-top]

MODEL is a name of keras.applications, which Keras loads with ImageNet's weights, or a file that Keras saved (.keras, .h5).
The file is for .weights of stoker::applications, or for load_weights_by_name. Runs where Keras 3 is installed.
"""

import argparse
import json
import os
import re
import struct
import sys

import numpy as np


def weights_of(model, before=""):
    """(name, weight) of all weights: "conv1_conv/kernel", inside of other models "stem/conv/kernel". Keras's paths hold name
    scopes besides, and numbers of weights that have no name, which count through a session."""
    for layer in model.layers:
        if hasattr(layer, "layers") and hasattr(layer, "inputs"):  # a model
            yield from weights_of(layer, f"{before}{layer.name}/")
            continue
        for weight in layer.weights:
            parts = weight.path.split("/")
            local = parts[parts.index(layer.name) :] if layer.name in parts else [layer.name, weight.name]
            yield before + re.sub(r"/variable_\d+$", "/variable", "/".join(local)), weight


def tensors_of(model):
    """Name to array. Keras scales EfficientNet's pixels twice when it loads ImageNet's weights; here its first layer does
    both: x / sqrt(variance) · scale = x / sqrt(variance / scale²)."""
    tensors = {name: np.asarray(weight) for name, weight in weights_of(model)}
    for layer in model.layers:
        scale = getattr(layer, "scale", None)
        if type(layer).__name__ == "Rescaling" and np.ndim(scale) == 1 and "normalization/variance" in tensors:
            tensors["normalization/variance"] = (tensors["normalization/variance"] / np.square(scale)).astype(np.float32)
            tensors["normalization/mean"] = tensors["normalization/mean"].astype(np.float32)
    return tensors


def write(path, tensors):
    """Eight bytes of header length, the header as JSON, the tensors row-major and little-endian."""
    types = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "int32": "I32"}
    header, offset = {}, 0
    for name, array in tensors.items():
        end = offset + array.nbytes
        header[name] = {"dtype": types[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def load(model, top):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import keras

    if os.path.exists(model):
        return keras.models.load_model(model, compile=False)
    make = getattr(keras.applications, model, None)
    if make is None:
        sys.exit(f"{model}: neither a file nor a name of keras.applications")
    return make(weights="imagenet", include_top=top)


def integers(array):
    """Stoker counts in int64."""
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--no-top", action="store_true", help="without the classifier")
    args = parser.parse_args()
    tensors = {name: integers(array) for name, array in tensors_of(load(args.model, not args.no_top)).items()}
    write(args.out, tensors)
    print(f"{args.out}: {len(tensors)} tensors, {sum(array.nbytes for array in tensors.values()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
