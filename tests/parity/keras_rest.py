"""What of keras.ops looks at bits, has complex values or a gradient by hand, and keras.utils.bounding_boxes: cases of the
form of keras_ops.py. Boxes are numbers of the input p, [4, 6] from 0.5 to 2.5, as left, top, width and height.

    python3 tests/parity/keras_rest.py     writes rest.safetensors alone

Keras 3.15 converts relative formats in float32 whatever it is given, and orders eigenvalues as LAPACK does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from keras import layers
from keras import ops as k
from keras.utils import bounding_boxes as boxes

from keras_ops import Case, record_cases

SIZE = {"height": 40, "width": 30}


def corners(p: Any, first: int = 0) -> Any:
    """Four columns of p as xyxy."""
    left, top, wide, high = (p[:, first + n : first + n + 1] for n in (0, 1, 2, 3 if first == 0 else 0))
    return k.concatenate([left, top, left + wide, top + high], axis=-1)


def converted(source: str, target: str) -> Case:
    return ("p", lambda p: boxes.convert_format(p[:, :4], source, target, dtype=p.dtype.name, **SIZE))


@k.custom_gradient
def log1pexp(x: Any) -> Any:
    e = k.exp(x)

    def grad(*args: Any, upstream: Any = None) -> Any:
        (upstream,) = args if upstream is None else (upstream,)
        return upstream * (1 - 1 / (1 + e)) * 0.5

    return k.log(1 + e), grad


def sorted_eigenvalues(a: Any) -> list[Any]:
    values = k.eig(a)[0]
    order = k.argsort(k.real(values), axis=-1)
    return [k.take_along_axis(part(values), order, axis=-1) for part in (k.real, lambda v: k.abs(k.imag(v)))]


def padded(p: Any, count: int) -> list[Any]:
    data = {"boxes": k.cast(p[:, :4], "float32")[None], "labels": k.cast(p[:, 4], "float32")[None]}
    images = np.zeros((1, 8, 8, 3), "float32")
    made = layers.MaxNumBoundingBoxes(count, bounding_box_format="xyxy")({"images": images, "bounding_boxes": data})["bounding_boxes"]
    return [k.cast(made["boxes"], p.dtype), k.cast(made["labels"], p.dtype)]


def moved(p: Any) -> Any:
    one = [np.array([v], p.dtype.name) for v in (20.0, 0.1, -0.2, 1.25, 5.0, -3.0)]
    return boxes.affine_transform(corners(p)[None], *one, height=40, width=30)


REST_CASES: dict[str, Case] = {
    "nextafter": ("x y", lambda x, y: k.nextafter(k.cast(x, "float32"), k.cast(y, "float32"))),
    "view": ("whole", lambda i: k.view(k.cast(i, "int32"), "int16")),
    "eig": ("a", sorted_eigenvalues),
    "custom_gradient": ("x", log1pexp),
    "boxes_yxyx": converted("xywh", "yxyx"), "boxes_xywh": converted("yxyx", "xywh"),
    "boxes_center_xywh": converted("xyxy", "center_xywh"), "boxes_center_yxhw": converted("center_xywh", "center_yxhw"),
    "boxes_rel_xyxy": converted("xywh", "rel_xyxy"), "boxes_rel_yxyx": converted("center_yxhw", "rel_yxyx"),
    "boxes_rel_xywh": converted("rel_center_xywh", "rel_xywh"), "boxes_rel_center_xywh": converted("xyxy", "rel_center_xywh"),
    "boxes_absolute": converted("rel_xywh", "xyxy"),
    "boxes_clip": ("p", lambda p: boxes.clip_to_image_size({"boxes": corners(p)}, height=3, width=2)["boxes"]),
    "boxes_crop": ("p", lambda p: boxes.crop(corners(p), 1, 0.5, 2, 1.5)), "boxes_pad": ("p", lambda p: boxes.pad(corners(p), 3, 2)),
    "boxes_affine": ("p", moved),
    "boxes_iou": ("p", lambda p: boxes.compute_iou(corners(p), corners(p, 2)[None], "xyxy")),
    "boxes_ciou": ("p", lambda p: boxes.compute_ciou(corners(p), corners(p, 2), "xyxy")),
    "boxes_encode": ("p", lambda p: boxes.encode_box_to_deltas(corners(p), p[:, 2:6], "xyxy", "center_xywh", variance=[0.1, 0.1, 0.2, 0.2])),
    "boxes_decode": ("p x", lambda p, x: boxes.decode_deltas_to_boxes(corners(p), x[:, :4], "xyxy", "xywh")),
    "max_num_bounding_boxes": ("p", lambda p: padded(p, 3)), "max_num_bounding_boxes_more": ("p", lambda p: padded(p, 6)),
}  # fmt: skip

NO_GRADIENT = {"nextafter", "view", "eig", "max_num_bounding_boxes", "max_num_bounding_boxes_more"}
# Keras casts boxes to float32 in these, whatever they are.
FLOAT32_ONLY = {"nextafter", "boxes_iou", "boxes_ciou", "boxes_encode", "boxes_decode"}


def record_rest(metadata: dict[str, str]) -> None:
    record_cases("rest", REST_CASES, NO_GRADIENT, FLOAT32_ONLY, metadata)


if __name__ == "__main__":
    import keras

    record_rest({"made_by": "tests/parity/record_keras.py", "keras": keras.__version__, "tensorflow": tf.__version__})
