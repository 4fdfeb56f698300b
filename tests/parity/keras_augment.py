"""Augmentations for given draws: what Keras's layers make of a picture. What was drawn is recorded as base/augment.h has
it: kind, fill mode, bilinear, fill value, the value range, and eight numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from keras import layers

from common import Array, Recording, Shape, uniform
from keras_support import in_both, tensor

SEED = 41
PICTURE: Shape = (1, 7, 8, 3)
KINDS = (
    "none flip rotation translation zoom shear perspective crop brightness contrast hue saturation degeneration grayscale "
    "invert posterization solarization sharpness blur auto_contrast equalization erasing noise warp"
).split()
FILLS = ("constant", "nearest", "reflect", "wrap")

Images = tf.Tensor
Transform = Callable[[Images], Images]


def drawn(kind: str, numbers: list[float], fill: str = "constant", bilinear: bool = True, fill_value: float = 0.0) -> Array:
    head = [KINDS.index(kind), FILLS.index(fill), float(bilinear), fill_value, 0.0, 255.0]
    return np.array([*head, *numbers, *[0.0] * (8 - len(numbers))], np.float32)


def cast(values: list[float], like: Images) -> tf.Tensor:
    return tf.constant(np.array(values, np.float32).astype(like.dtype.as_numpy_dtype))


def each(value: float, like: Images) -> tf.Tensor:
    return tf.reshape(cast([value], like), (1, 1, 1, 1))


CASES: dict[str, tuple[Array, Transform]] = {}


def warps() -> None:
    angle = 0.375
    height, width = PICTURE[1:3]
    cosine, sine, x, y = math.cos(angle), math.sin(angle), (width - 1) / 2, (height - 1) / 2
    rotation = [cosine, -sine, x - x * cosine + y * sine, sine, cosine, y - x * sine - y * cosine, 0.0, 0.0]
    matrices = {
        "rotation": rotation,
        "translation": [1.0, 0.0, 2.25, 0.0, 1.0, -3.375, 0.0, 0.0],
        "far": [1.0, 0.0, 21.25, 0.0, 1.0, -19.375, 0.0, 0.0],
        "shear": [1.0, 0.3125, 0.0, -0.1875, 1.0, 0.0, 0.0, 0.0],
        "projection": [0.875, 0.125, 0.5, -0.0625, 1.125, 0.25, 0.015625, 0.03125],
    }
    for name, matrix in matrices.items():
        for fill in FILLS:
            for interpolation in ("bilinear", "nearest"):
                numbers = drawn("warp", matrix, fill, interpolation == "bilinear", 17.0)

                def run(images: Images, matrix: list[float] = matrix, fill: str = fill, how: str = interpolation) -> Images:
                    return tf.raw_ops.ImageProjectiveTransformV3(
                        images=images,
                        transforms=tf.constant([matrix], tf.float32),
                        output_shape=tf.shape(images)[1:-1],
                        fill_value=17.0,
                        interpolation=how.upper(),
                        fill_mode=fill.upper(),
                    )

                CASES[f"{name}_{fill}_{interpolation}"] = (numbers, run)


def geometry() -> None:
    turn = 22.5  # degrees
    rotation = layers.RandomRotation(0.1)

    def rotate(images: Images) -> Images:
        one, none = tf.ones([1]), tf.zeros([1])
        matrix = rotation._compute_affine_matrix(0.5, 0.5, one * turn, none, none, one, none, none, *PICTURE[1:3])
        return rotation._transform_images(images, {"rotation_matrix": matrix}, "bilinear")

    CASES["by_angle"] = (drawn("rotation", [math.radians(turn)], "reflect"), rotate)

    zoom = layers.RandomZoom(0.5)
    factors = {"height_zoom": tf.constant([[1.25]]), "width_zoom": tf.constant([[0.75]])}
    CASES["by_zoom"] = (
        drawn("zoom", [1.25, 0.75], "reflect"),
        lambda images: zoom._zoom_inputs(images, factors, "bilinear"),
    )

    perspective = layers.RandomPerspective()
    moves = np.array([[0.1, 0.2], [-0.25, 0.125], [0.25, -0.125], [-0.0625, -0.1875]], np.float32)
    height, width = PICTURE[1:3]
    start = np.array([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]], np.float32)
    CASES["by_corners"] = (
        drawn("perspective", moves.ravel().tolist()),
        lambda images: perspective._transform_images(
            images,
            {
                "start_points": tf.constant(start[None]),
                "end_points": tf.constant((start + start * moves)[None]),
                "apply_perspective": tf.constant([True]),
            },
            "bilinear",
        ),
    )


    # Keras solves for the projection in float32; the noise is what that costs.
    rows, targets = [], []
    for (x, y), (to_x, to_y) in zip(start.astype(np.float64), (start + start * moves).astype(np.float64)):
        rows += [[to_x, to_y, 1, 0, 0, 0, -x * to_x, -x * to_y], [0, 0, 0, to_x, to_y, 1, -y * to_x, -y * to_y]]
        targets += [x, y]
    matrix = np.linalg.solve(np.array(rows), np.array(targets))
    CASES["by_corners_exactly"] = (
        drawn("none", []),
        lambda images: tf.raw_ops.ImageProjectiveTransformV3(
            images=images,
            transforms=tf.constant(matrix[None], tf.float32),
            output_shape=tf.shape(images)[1:-1],
            fill_value=0.0,
            interpolation="BILINEAR",
        ),
    )


def values() -> None:
    def add(name: str, numbers: list[float], run: Transform, kind: str = "", fill_value: float = 0.0) -> None:
        CASES[name] = (drawn(kind or name, numbers, fill_value=fill_value), run)

    brightness, contrast = layers.RandomBrightness(0.5), layers.RandomContrast(0.5)
    add("brightness", [-61.5], lambda x: brightness.transform_images(x, {"rgb_delta": each(-61.5, x)}))
    add("contrast", [1.625], lambda x: contrast.transform_images(x, {"contrast_factor": each(1.625, x)}))
    hue, saturation = layers.RandomHue(0.5), layers.RandomSaturation(0.5)
    add("hue", [-0.3125], lambda x: hue.transform_images(x, {"factor": cast([-0.3125], x)}))
    add("hue_up", [0.4375], lambda x: hue.transform_images(x, {"factor": cast([0.4375], x)}), "hue")
    add("saturation", [0.375], lambda x: saturation.transform_images(x, {"factor": cast([0.375], x)}))
    degeneration, grey = layers.RandomColorDegeneration(0.5), layers.RandomGrayscale()
    add("degeneration", [0.625], lambda x: degeneration.transform_images(x, {"factor": each(0.625, x)}))
    add("grayscale", [], lambda x: grey.transform_images(x, tf.ones((1, 1, 1, 1), tf.bool)))
    invert, posterization = layers.RandomInvert(), layers.RandomPosterization(3)
    add("invert", [], lambda x: invert.transform_images(x, {"apply_inversion": tf.constant([True])}))
    add("posterization", [5.0], lambda x: posterization.transform_images(x, {"shift_factor": tf.constant([5], tf.uint8)}))
    solar = layers.Solarization(0.5, 0.5)
    add(
        "solarization",
        [31.5, 140.25],
        lambda x: solar.transform_images(x, {"additions": each(31.5, x), "thresholds": each(140.25, x)}),
    )
    sharpness, blur = layers.RandomSharpness(0.5), layers.RandomGaussianBlur(kernel_size=5)
    add("sharpness", [1.75], lambda x: sharpness.transform_images(x, {"factor": cast([0.875], x)}))
    add(
        "blur",
        [0.75, 1.25, 5.0, 5.0],
        lambda x: blur.transform_images(x, {"should_apply_blur": tf.constant([True]), "blur_factor": cast([0.75, 1.25], x)}),
    )
    auto, equal = layers.AutoContrast(), layers.Equalization(bins=64)
    add("auto_contrast", [], lambda x: auto.transform_images(x))
    add("equalization", [64.0], lambda x: equal.transform_images(x, None))
    erasing = layers.RandomErasing(fill_value=77.0)
    box = [1.5, 5.25, 2.0, 4.75]
    add(
        "erasing",
        [*box, 1.0],
        lambda x: erasing.transform_images(
            x,
            {
                "apply_erasing": tf.constant([True]),
                "batch_masks": erasing._generate_batch_mask(PICTURE, tuple(cast([corner], x) for corner in box)),
                "fill_value": tf.ones_like(x) * 77,
            },
        ),
        fill_value=77.0,
    )


def record_augment(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    picture = uniform(SEED, 0, PICTURE, 128.0, 128.0)
    for fill_cases in (warps, geometry, values):
        fill_cases()

    def results(dtype: str) -> dict[str, Array]:
        CASES.clear()
        for fill_cases in (warps, geometry, values):
            fill_cases()
        return {name: run(tensor(picture, dtype)).numpy() for name, (_, run) in CASES.items()}

    exact, draw = in_both(results)
    exact["by_corners"] = CASES["by_corners_exactly"][1](tensor(picture, "float64")).numpy()
    del CASES["by_corners_exactly"]
    for name, (numbers, _) in CASES.items():
        recording.add(f"drawn/{name}", numbers.astype(np.float64), [numbers])
        recording.add(f"output/{name}", exact[name].astype(np.float64), [draw[name].astype(np.float32)])
    recording.save("augment", metadata)
