"""Layers over one, two and three axes, and those around and between others: what Keras computes, and the gradients."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from common import Array, Recording, Shape, uniform
from keras_support import in_both, tensor

SEED = 31
INPUT, COTANGENT, WEIGHTS = 0, 10, 20  # streams: input k, output k, weight k
SEQUENCE: Shape = (2, 9, 3)
IMAGE: Shape = (2, 5, 6, 3)
VOLUME: Shape = (1, 4, 5, 6, 2)
PICTURE: Shape = (1, 5, 6, 2)  # to be resized
STEPS: dict[int, Shape] = {1: (2, 3, 6, 2), 2: (1, 3, 5, 4, 2), 3: (1, 2, 3, 4, 3, 2)}

Make = Callable[[], keras.Layer]
LAYERS: dict[str, tuple[Make, list[Shape]]] = {
    "conv2d_transpose": (lambda: layers.Conv2DTranspose(4, 3), [IMAGE]),
    "conv2d_transpose_stride": (lambda: layers.Conv2DTranspose(4, (3, 2), strides=(2, 3)), [IMAGE]),
    "conv2d_transpose_same": (
        lambda: layers.Conv2DTranspose(4, (4, 3), strides=2, padding="same", activation="relu"),
        [IMAGE],
    ),
    "conv2d_transpose_wide": (lambda: layers.Conv2DTranspose(4, 2, strides=3, padding="same"), [IMAGE]),
    "conv2d_transpose_more": (lambda: layers.Conv2DTranspose(4, 3, strides=2, output_padding=1), [IMAGE]),
    "conv2d_transpose_same_more": (
        lambda: layers.Conv2DTranspose(4, 5, strides=3, padding="same", output_padding=(2, 1), use_bias=False),
        [IMAGE],
    ),
    "conv3d": (lambda: layers.Conv3D(4, 3), [VOLUME]),
    "conv3d_flat": (lambda: layers.Conv3D(4, (1, 3, 2), activation="tanh"), [VOLUME]),
    "conv3d_same": (lambda: layers.Conv3D(4, (2, 3, 4), padding="same", activation="relu"), [VOLUME]),
    "conv3d_stride": (lambda: layers.Conv3D(4, (3, 2, 3), strides=(2, 1, 3), use_bias=False), [VOLUME]),
    "conv3d_same_stride": (lambda: layers.Conv3D(4, (3, 3, 2), strides=2, padding="same"), [VOLUME]),
    "conv3d_transpose": (lambda: layers.Conv3DTranspose(3, 3), [VOLUME]),
    "conv3d_transpose_stride": (lambda: layers.Conv3DTranspose(3, (2, 3, 2), strides=(3, 1, 2)), [VOLUME]),
    "conv3d_transpose_same": (
        lambda: layers.Conv3DTranspose(3, (4, 3, 2), strides=2, padding="same", activation="relu"),
        [VOLUME],
    ),
    "conv3d_transpose_more": (lambda: layers.Conv3DTranspose(3, 3, strides=2, output_padding=1), [VOLUME]),
    "max_pool3d": (lambda: layers.MaxPooling3D(), [VOLUME]),
    "max_pool3d_same": (lambda: layers.MaxPooling3D((3, 2, 3), strides=(1, 2, 2), padding="same"), [VOLUME]),
    "average_pool3d": (lambda: layers.AveragePooling3D((2, 1, 3)), [VOLUME]),
    "average_pool3d_same": (
        lambda: layers.AveragePooling3D((3, 2, 3), strides=(2, 2, 1), padding="same"),
        [VOLUME],
    ),
    "global_average3d": (lambda: layers.GlobalAveragePooling3D(), [VOLUME]),
    "global_max3d": (lambda: layers.GlobalMaxPooling3D(keepdims=True), [VOLUME]),
    "adaptive_average1d": (lambda: layers.AdaptiveAveragePooling1D(4), [SEQUENCE]),
    "adaptive_average2d": (lambda: layers.AdaptiveAveragePooling2D((2, 4)), [IMAGE]),
    "adaptive_average3d": (lambda: layers.AdaptiveAveragePooling3D((2, 3, 4)), [VOLUME]),
    "adaptive_max1d": (lambda: layers.AdaptiveMaxPooling1D(4), [SEQUENCE]),
    "adaptive_max2d": (lambda: layers.AdaptiveMaxPooling2D((3, 4)), [IMAGE]),
    "adaptive_max3d": (lambda: layers.AdaptiveMaxPooling3D((2, 3, 6)), [VOLUME]),
    "zero_padding2d": (lambda: layers.ZeroPadding2D(((1, 0), (2, 3))), [IMAGE]),
    "zero_padding3d": (lambda: layers.ZeroPadding3D(((1, 0), (2, 3), (0, 1))), [VOLUME]),
    "cropping2d": (lambda: layers.Cropping2D(((1, 0), (2, 1))), [IMAGE]),
    "cropping3d": (lambda: layers.Cropping3D(((1, 0), (2, 1), (0, 3))), [VOLUME]),
    "up_sampling3d": (lambda: layers.UpSampling3D((1, 2, 3)), [VOLUME]),
    "repeat_vector": (lambda: layers.RepeatVector(3), [(2, 5)]),
    "identity": (lambda: layers.Identity(), [SEQUENCE]),
    "dot_vectors": (lambda: layers.Dot(-1), [(3, 4), (3, 4)]),
    "dot_cosine": (lambda: layers.Dot(1, normalize=True), [(3, 4), (3, 4)]),
    "dot_matrices": (lambda: layers.Dot((2, 1)), [(2, 3, 4), (2, 4, 5)]),
    "dot_first": (lambda: layers.Dot(1), [(2, 4, 3), (2, 4, 5)]),
    "dot_vector_matrix": (lambda: layers.Dot((1, 2)), [(2, 4), (2, 3, 4)]),
    "dot_tensors": (lambda: layers.Dot((2, 1)), [(2, 3, 4, 2), (2, 4, 5)]),
    "conv_lstm1d": (lambda: layers.ConvLSTM1D(3, 3, padding="same"), [STEPS[1]]),
    "conv_lstm1d_valid": (lambda: layers.ConvLSTM1D(3, 2, strides=2, return_sequences=True), [STEPS[1]]),
    "conv_lstm2d": (lambda: layers.ConvLSTM2D(2, (3, 2), return_sequences=True), [STEPS[2]]),
    "conv_lstm2d_backwards": (
        lambda: layers.ConvLSTM2D(
            2, 3, padding="same", go_backwards=True, recurrent_activation="hard_sigmoid", use_bias=False
        ),
        [STEPS[2]],
    ),
    "conv_lstm3d": (lambda: layers.ConvLSTM3D(2, 2, padding="same", activation="relu"), [STEPS[3]]),
}


# TensorFlow takes maxima over volumes in float32 only. They pick elements, and no rounding is lost.
FLOAT32_ONLY = {"max_pool3d", "max_pool3d_same", "adaptive_max3d"}


def drawn_inputs(shapes: list[Shape], dtype: str) -> list[tf.Variable]:
    return [tf.Variable(tensor(uniform(SEED, INPUT + k, shape, 1.0), dtype)) for k, shape in enumerate(shapes)]


def layer_case(make: Make, shapes: list[Shape], dtype: str) -> dict[str, Array]:
    """The output y, and the gradients of the sum of y times a drawn tensor: of the inputs, then of the weights."""
    layer = make()
    inputs = drawn_inputs(shapes, dtype)
    layer.build(shapes[0] if len(shapes) == 1 else shapes)
    for index, variable in enumerate(layer.trainable_variables):
        variable.assign(uniform(SEED, WEIGHTS + index, tuple(variable.shape), 1.0).astype(dtype))
    weights = [variable.value for variable in layer.trainable_variables]

    def run() -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            y = layer(inputs[0] if len(inputs) == 1 else inputs)
            loss = tf.reduce_sum(y * tensor(uniform(SEED, COTANGENT, tuple(y.shape), 1.0), dtype))
        return y, [tf.convert_to_tensor(slope) for slope in tape.gradient(loss, [*inputs, *weights])]

    # Means over volumes in float64 are there in compiled form only.
    y, slopes = tf.function(run, jit_compile=True)() if len(shapes[0]) == 5 and not weights else run()
    return {"output": y.numpy(), **{f"gradient{index}": slope.numpy() for index, slope in enumerate(slopes)}}


# --- spectral normalisation: two steps of SGD on the sum of the output times a drawn tensor ------------------------

SPECTRAL: dict[str, tuple[Make, Shape]] = {
    "dense": (lambda: layers.SpectralNormalization(layers.Dense(4)), (3, 5)),
    "conv": (lambda: layers.SpectralNormalization(layers.Conv2D(4, 3), power_iterations=3), IMAGE),
}


def spectral_case(make: Make, shape: Shape, dtype: str) -> dict[str, Array]:
    layer = make()
    layer.build(shape)
    weights = [layer.layer.kernel, layer.layer.bias, layer.vector_u]
    for index, variable in enumerate(weights):
        variable.assign(uniform(SEED, WEIGHTS + index, tuple(variable.shape), 1.0).astype(dtype))
    result = {}
    for step in range(2):
        x = tensor(uniform(SEED, INPUT + step, shape, 1.0), dtype)
        with tf.GradientTape() as tape:
            y = layer(x, training=True)
            loss = tf.reduce_sum(y * tensor(uniform(SEED, COTANGENT, tuple(y.shape), 1.0), dtype))
        variables = [variable.value for variable in layer.trainable_variables]
        result[f"output{step}"] = y.numpy()
        for variable, slope in zip(layer.trainable_variables, tape.gradient(loss, variables)):
            variable.assign(variable - 0.125 * slope)
    for index, variable in enumerate(weights):
        result[f"weight{index}"] = variable.numpy()
    return result


# --- resizing: TensorFlow computes it in float32 only, so float64 is the formula, once more --------------------------


def lanczos(radius: float) -> Callable[[Array], Array]:
    return lambda x: np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0.0)


def keys(x: Array) -> Array:
    x = np.abs(x)
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


FILTERS: dict[str, Callable[[Array], Array]] = {
    "bilinear": lambda x: np.maximum(0.0, 1 - np.abs(x)),
    "bicubic": keys,
    "lanczos3": lanczos(3.0),
    "lanczos5": lanczos(5.0),
}


def resize_matrix(size_in: int, size_out: int, interpolation: str, antialias: bool) -> Array:
    """[in, out]"""
    scale = size_in / size_out
    position = (np.arange(size_out) + 0.5) * scale - 0.5
    pixels = np.arange(size_in)[:, None]
    if interpolation == "nearest":
        return (pixels == np.minimum(np.floor(position + 0.5), size_in - 1)).astype(np.float64)
    if interpolation == "bilinear" and not antialias:
        position = np.clip(position, 0, size_in - 1)
    if interpolation == "bicubic" and not antialias:  # TensorFlow's table
        position = np.floor(position) + np.round((position - np.floor(position)) * 1024) / 1024
    weights = FILTERS[interpolation]((pixels - position) / (max(scale, 1.0) if antialias else 1.0))
    return weights / weights.sum(axis=0)


RESIZES: dict[str, tuple[str, bool, tuple[int, int]]] = {
    f"{interpolation}{'_antialias' if antialias else ''}_{height}x{width}": (interpolation, antialias, (height, width))
    for interpolation in ("nearest", *FILTERS)
    for antialias in (False, True)
    for height, width in ((10, 12), (15, 6), (3, 4), (2, 13))
    if not (interpolation == "nearest" and antialias)
}


def resize_case(interpolation: str, antialias: bool, size: tuple[int, int]) -> tuple[dict[str, Array], dict[str, Array]]:
    x = uniform(SEED, INPUT, PICTURE, 1.0)
    rows = resize_matrix(PICTURE[1], size[0], interpolation, antialias)
    columns = resize_matrix(PICTURE[2], size[1], interpolation, antialias)
    exact = np.einsum("bhwc,hp,wq->bpqc", x.astype(np.float64), rows, columns)
    draw = tf.image.resize(x, size, method=interpolation, antialias=antialias).numpy()
    assert np.abs(exact - draw).max() < 1e-5, (interpolation, antialias, size, np.abs(exact - draw).max())
    return {"output": exact}, {"output": draw}


def record_spatial(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)

    def add(name: str, exact: dict[str, Array], draw: dict[str, Array]) -> None:
        for part, value in exact.items():
            recording.add(f"{name}/{part}", value, [draw[part]])

    for name, (make, shapes) in LAYERS.items():
        if name in FLOAT32_ONLY:
            add(f"layer/{name}", *[layer_case(make, shapes, "float32")] * 2)
        else:
            add(f"layer/{name}", *in_both(lambda dtype: layer_case(make, shapes, dtype)))
    for name, (make, shape) in SPECTRAL.items():
        add(f"spectral/{name}", *in_both(lambda dtype: spectral_case(make, shape, dtype)))
    for name, (interpolation, antialias, size) in RESIZES.items():
        add(f"resize/{name}", *resize_case(interpolation, antialias, size))
    recording.save("spatial", metadata)
