"""keras.ops once more: the functions that keras_ops.py leaves out, as cases of the same form.

What has no record: what draws at random (keras.random, elastic_transform), what has no value (empty, empty_like,
convert_to_tensor, stop_gradient's value), and what is Python's (vectorize, is_tensor). keras_rest.py has some more.
Keras 3.15 on TensorFlow rounds the numbers of argpartition to integers, eye with a diagonal has another shape than asked, and
unravel_index is right for squares only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from keras import layers
from keras import ops as k

from keras_ops import Case, record_cases, spd, with_gaps


def with_holes(x: Any) -> Any:
    """NaN and both infinities in it."""
    y = k.where(x > 1.2, k.cast(np.nan, x.dtype), x)
    y = k.where(x < -1.2, k.cast(-np.inf, x.dtype), y)
    return k.where(k.abs(x) < 0.3, k.cast(np.inf, x.dtype), y)


def kernel(a: Any, *shape: int) -> Any:
    """Numbers of `a`, repeated, as a kernel."""
    flat = k.reshape(a, (-1,))
    count = int(np.prod(shape))
    return k.reshape(k.tile(flat, -(-count // flat.shape[0]))[:count], shape)


def sequence(i: Any) -> Any:
    return k.reshape(i, (2, 16, 9))


def volume(i: Any) -> Any:
    return k.reshape(i, (2, 3, 4, 4, 3))


def corners(moves: list[float]) -> Any:
    square = np.array([[0, 0], [0, 5], [7, 0], [7, 5]], "float32")
    return square[None] + np.array(moves, "float32").reshape(1, 4, 2)


def perspective(i: Any) -> Any:
    """Keras finds places in float32 whatever the images are: in float64 the same formulas, in NumPy."""
    start, end = corners([0] * 8), corners([0.6, -0.4, 1.2, 0.3, -0.7, 0.9, -0.2, -0.8])
    if i.dtype.name == "float32":
        return k.image.perspective_transform(i[:1], start, end)
    rows, values = [], []
    for (sx, sy), (ex, ey) in zip(start[0].astype("float64"), end[0].astype("float64")):
        rows += [[ex, ey, 1, 0, 0, 0, -sx * ex, -sx * ey], [0, 0, 0, ex, ey, 1, -sy * ex, -sy * ey]]
        values += [sx, sy]
    t = np.linalg.solve(np.array(rows), np.array(values))
    image = np.pad(i.numpy()[0], ((1, 2), (1, 2), (0, 0)))
    down, right = np.mgrid[0:6, 0:8]
    scale = t[6] * right + t[7] * down + 1
    x, y = (t[0] * right + t[1] * down + t[2]) / scale, (t[3] * right + t[4] * down + t[5]) / scale
    result = np.zeros((6, 8, 3))
    for dy in (0, 1):
        for dx in (0, 1):
            row, column = np.floor(y).astype(int) + dy, np.floor(x).astype(int) + dx
            inside = (row >= -1) & (row <= 7) & (column >= -1) & (column <= 9)
            pixels = image[np.clip(row, -1, 7) + 1, np.clip(column, -1, 9) + 1]
            result += (inside * (1 - abs(y - row)) * (1 - abs(x - column)))[..., None] * pixels
    return tf.constant(result[None])


def ctc(logits: Any, labels: list[list[int]]) -> Any:
    lengths = np.array([sum(label > 0 for label in row) for row in labels])
    return k.ctc_loss(np.array(labels), logits, lengths, np.array([16, 16]))


def steps(variables: tuple[Any, Any]) -> tuple[Any, Any]:
    return variables[0] + 1, variables[1] * 1.5


MORE_CASES: dict[str, Case] = {
    # --- elementwise
    "add": ("x v", k.add), "subtract": ("x v", k.subtract), "multiply": ("x y", k.multiply), "divide": ("x p", k.divide),
    "true_divide": ("x p", k.true_divide), "negative": ("x", k.negative), "absolute": ("x", k.absolute), "fabs": ("x", k.fabs),
    "power": ("p x", k.power), "exp": ("x", k.exp), "log": ("p", k.log), "sqrt": ("p", k.sqrt),
    "sin": ("x", k.sin), "cos": ("x", k.cos), "tanh": ("x", k.tanh), "floor": ("x", k.floor),
    "maximum": ("x y", k.maximum), "minimum": ("x y", k.minimum), "clip": ("x", lambda x: k.clip(x, -0.7, 1.1)),
    "log1p": ("p", k.log1p), "rsqrt": ("p", k.rsqrt), "square": ("x", k.square), "reciprocal": ("p", k.reciprocal),
    "sign": ("x", k.sign), "erf": ("x", k.erf), "abs": ("x", k.abs),
    "ldexp": ("x other", lambda x, o: k.ldexp(x, o - 4)), "cast": ("whole", lambda w: k.cast(w, "float32") / 3),
    "equal": ("places", lambda i: k.equal(i, 3)), "not_equal": ("places", lambda i: k.not_equal(i, 3)),
    "greater": ("x y", k.greater), "greater_equal": ("whole other", k.greater_equal), "less": ("x y", k.less),
    "less_equal": ("whole other", k.less_equal), "where": ("x y p", lambda x, y, p: k.where(x > y, x, p)),
    "isnan": ("x", lambda x: k.isnan(with_holes(x))), "isinf": ("x", lambda x: k.isinf(with_holes(x))),
    "isfinite": ("x", lambda x: k.isfinite(with_holes(x))), "isposinf": ("x", lambda x: k.isposinf(with_holes(x))),
    "isneginf": ("x", lambda x: k.isneginf(with_holes(x))), "isreal": ("x", k.isreal),
    "isin": ("whole", lambda w: k.isin(w, np.array([-3, 5, 12, 1, 0, 7, -20]))),
    "allclose": ("x y", lambda x, y: k.stack([k.allclose(x, y), k.allclose(x, x + 1e-9)])),
    "nan_to_num": ("x", lambda x: k.nan_to_num(with_holes(x), nan=0.5, posinf=7.0, neginf=-8.0)),
    "bitwise_invert": ("whole", k.bitwise_invert), "bitwise_left_shift": ("whole other", k.bitwise_left_shift),
    "bitwise_right_shift": ("whole other", k.bitwise_right_shift),
    "saturate_cast": ("x", lambda x: k.saturate_cast(x * 200, "uint8")),
    # --- arrays
    "zeros": ("", lambda: k.zeros((2, 3))), "ones": ("", lambda: k.ones((2, 3))), "full": ("", lambda: k.full((2, 3), 2.5)),
    "zeros_like": ("x", k.zeros_like), "ones_like": ("x", k.ones_like), "full_like": ("x", lambda x: k.full_like(x, 1.5)),
    "arange": ("", lambda: k.arange(1.0, 4.0, 0.75)), "linspace": ("", lambda: k.linspace(-1.0, 2.0, 7)),
    "linspace_open": ("", lambda: k.linspace(-1.0, 2.0, 7, endpoint=False)),
    "logspace": ("", lambda: k.logspace(-1.0, 2.0, 7)), "geomspace": ("", lambda: k.geomspace(0.5, 40.0, 6)),
    "eye": ("", lambda: k.eye(3, 5)), "identity": ("", lambda: k.identity(3)), "tri": ("", lambda: k.tri(4, 5, k=-1)),
    "bartlett": ("", lambda: k.bartlett(8)), "blackman": ("", lambda: k.blackman(8)), "hamming": ("", lambda: k.hamming(8)),
    "hanning": ("", lambda: k.hanning(8)), "kaiser": ("", lambda: k.kaiser(8, 5.0)),
    "diagflat": ("rows", lambda r: k.diagflat(r[0], 1)), "fliplr": ("x", k.fliplr), "flipud": ("x", k.flipud),
    "hsplit": ("x", lambda x: k.hsplit(x, 3)), "vsplit": ("x", lambda x: k.vsplit(x, 2)), "dsplit": ("t", lambda t: k.dsplit(t, 2)),
    "split": ("x", lambda x: k.split(x, 2, axis=1)), "concatenate": ("x y", lambda x, y: k.concatenate([x, y], axis=1)),
    "reshape": ("x", lambda x: k.reshape(x, (3, -1))), "ravel": ("t", k.ravel), "transpose": ("t", lambda t: k.transpose(t, (2, 0, 1))),
    "expand_dims": ("x", lambda x: k.expand_dims(x, 1)), "squeeze": ("x", lambda x: k.squeeze(k.expand_dims(x, 1), 1)),
    "broadcast_to": ("v", lambda v: k.broadcast_to(v, (3, 6))), "pad": ("x", lambda x: k.pad(x, [[1, 2], [0, 3]], constant_values=1.5)),
    "slice": ("x", lambda x: k.slice(x, (1, 2), (2, 3))), "get_item": ("x", lambda x: k.get_item(x, (slice(1, 4, 2), slice(0, 6, 3)))),
    "one_hot": ("ids", lambda i: k.one_hot(i, 4)), "segment_min": ("x ids", lambda x, i: k.segment_min(x, k.minimum(i, 1), 2)),
    "segment_prod": ("x ids", lambda x, i: k.segment_prod(x, k.minimum(i, 1), 2)),
    "unravel_index": ("places", lambda i: k.unravel_index(i * 3, (4, 4))),
    "select": ("x y", lambda x, y: k.select([x > 1, y > 0], [x * 2, y * y], -3.0)),
    # --- order and statistics
    "sum": ("x", lambda x: k.sum(x, axis=1)), "mean": ("x", lambda x: k.mean(x, axis=0)), "prod": ("p", lambda p: k.prod(p, axis=1)),
    "max": ("x", lambda x: k.max(x, axis=1)), "min": ("x", lambda x: k.min(x, axis=0)),
    "amax": ("x", lambda x: k.amax(x, axis=1)), "amin": ("x", lambda x: k.amin(x, axis=1)), "argmax": ("x", lambda x: k.argmax(x, 1)),
    "argpartition": ("whole", lambda w: k.take_along_axis(w, k.argpartition(w, 2), -1)[:, 2]),
    "percentile": ("x", lambda x: k.percentile(x, 35.0, axis=1)), "digitize": ("x", lambda x: k.digitize(x, np.array([-1.0, 0.0, 0.5, 1.5], x.dtype.name))),
    "histogram": ("x", lambda x: k.histogram(k.ravel(x), 5, (-1.5, 1.5))), "in_top_k": ("ids x", lambda i, x: k.in_top_k(i, k.cast(x, "float32"), 3)),
    "nansum": ("x", lambda x: k.nansum(with_gaps(x), axis=1)), "nanprod": ("p", lambda p: k.nanprod(with_gaps(p), axis=1)),
    "nanmax": ("x", lambda x: k.nanmax(with_gaps(x), axis=1)), "nanmin": ("x", lambda x: k.nanmin(with_gaps(x), axis=1)),
    "nanmean": ("x", lambda x: k.nanmean(with_gaps(x), axis=1)), "nanvar": ("x", lambda x: k.nanvar(with_gaps(x), axis=1)),
    "nanstd": ("x", lambda x: k.nanstd(with_gaps(x), axis=1)), "nanargmax": ("x", lambda x: k.nanargmax(with_gaps(x), axis=1)),
    "nanargmin": ("x", lambda x: k.nanargmin(with_gaps(x), axis=1)), "nancumsum": ("x", lambda x: k.nancumsum(with_gaps(x), axis=1)),
    "nancumprod": ("x", lambda x: k.nancumprod(with_gaps(x), axis=1)),
    # --- products and linear algebra
    "matmul": ("t b", k.matmul), "cdist": ("x y", lambda x, y: k.cdist(x, y + 5)),
    "cholesky_inverse": ("a", lambda a: k.cholesky_inverse(k.cholesky(spd(a)))), "slogdet": ("a", k.slogdet),
    "logdet": ("a", lambda a: k.logdet(spd(a))), "lu_factor": ("a", lambda a: k.lu_factor(a[0])), "pinv": ("b", k.pinv),
    "matrix_rank": ("a", k.matrix_rank), "eigh": ("a", lambda a: k.abs(k.eigh(spd(a))[1])),
    "svd": ("b", lambda b: [k.abs(each) for each in k.svd(b, full_matrices=False)]),
    # --- loops
    "cond": ("x y", lambda x, y: k.cond(k.sum(x) > k.sum(y), lambda: x * 2, lambda: y * 3)),
    "switch": ("x", lambda x: k.switch(1, [lambda a: a * 2, lambda a: a * a, lambda a: -a], x)),
    "fori_loop": ("x", lambda x: k.fori_loop(1, 4, lambda i, a: a * 0.5 + k.cast(i, a.dtype), x)),
    "while_loop": ("x", lambda x: k.while_loop(lambda n, a: n < 4, lambda n, a: steps((n, a)), (0, x), maximum_iterations=9)[1]),
    "map": ("x", lambda x: k.map(lambda row: k.cumsum(row) * 2, x)),
    "vectorized_map": ("x", lambda x: k.vectorized_map(lambda row: row * k.sum(row), x)),
    "scan": ("x", lambda x: k.scan(lambda c, row: (c * 0.5 + row, k.sin(c + row)), k.zeros_like(x[0]), x)),
    "associative_scan": ("p", lambda p: k.associative_scan(lambda a, b: a * b, p, axis=1)),
    # --- networks
    "relu": ("x", k.relu), "relu6": ("x", lambda x: k.relu6(x * 4)), "leaky_relu": ("x", lambda x: k.leaky_relu(x, 0.3)),
    "elu": ("x", lambda x: k.elu(x, 0.7)), "gelu": ("x", lambda x: k.gelu(x, False)), "silu": ("x", k.silu), "swish": ("x", k.swish),
    "selu": ("x", k.selu), "sigmoid": ("x", k.sigmoid), "softplus": ("x", k.softplus), "softsign": ("x", k.softsign),
    "softmax": ("x", k.softmax), "log_softmax": ("x", lambda x: k.log_softmax(x, 0)), "log_sigmoid": ("x", k.log_sigmoid),
    "hard_sigmoid": ("x", k.hard_sigmoid), "hard_silu": ("x", k.hard_silu), "hard_swish": ("x", k.hard_swish),
    "hard_tanh": ("x", k.hard_tanh), "tanh_shrink": ("x", k.tanh_shrink),
    "conv_1d": ("image a", lambda i, a: k.conv(sequence(i), kernel(a, 3, 9, 4), 2, "same")),
    "conv_causal_groups": ("image a", lambda i, a: k.conv(sequence(i), kernel(a, 3, 3, 6), 1, "valid", dilation_rate=2)),
    "conv_2d": ("image a", lambda i, a: k.conv(i, kernel(a, 3, 2, 3, 4), (1, 2), "same")),
    "conv_3d": ("image a", lambda i, a: k.conv(volume(i), kernel(a, 2, 2, 2, 3, 2), 1, "valid")),
    "conv_transpose_1d": ("image a", lambda i, a: k.conv_transpose(sequence(i), kernel(a, 3, 4, 9), 2, "same")),
    "conv_transpose_2d": ("image a", lambda i, a: k.conv_transpose(i, kernel(a, 3, 2, 4, 3), 2, "valid")),
    "conv_transpose_more": ("image a", lambda i, a: k.conv_transpose(i, kernel(a, 3, 3, 4, 3), 2, "same", output_padding=1)),
    "depthwise_1d": ("image a", lambda i, a: k.depthwise_conv(sequence(i), kernel(a, 3, 9, 2), 1, "same")),
    "depthwise_2d": ("image a", lambda i, a: k.depthwise_conv(i, kernel(a, 3, 3, 3, 2), 2, "same")),
    "separable_1d": ("image a b", lambda i, a, b: k.separable_conv(sequence(i), kernel(a, 3, 9, 2), kernel(b, 1, 18, 4), 1, "valid")),
    "separable_2d": ("image a b", lambda i, a, b: k.separable_conv(i, kernel(a, 3, 3, 3, 2), kernel(b, 1, 1, 6, 4), 1, "same")),
    "max_pool_1d": ("image", lambda i: k.max_pool(sequence(i), 3, 2, "same")), "max_pool_2d": ("image", lambda i: k.max_pool(i, (2, 3))),
    "max_pool_3d": ("image", lambda i: k.max_pool(volume(i), 2, 1, "valid")),
    "average_pool_1d": ("image", lambda i: k.average_pool(sequence(i), 3, 2, "valid")),
    "average_pool_2d": ("image", lambda i: k.average_pool(i, 3, 2, "same")),
    "average_pool_3d": ("image", lambda i: k.average_pool(volume(i), 2, 1, "same")),
    "adaptive_average_pool_1d": ("image", lambda i: k.adaptive_average_pool(sequence(i), 5)),
    "adaptive_average_pool_2d": ("image", lambda i: k.adaptive_average_pool(i, (4, 3))),
    "adaptive_max_pool_2d": ("image", lambda i: k.adaptive_max_pool(i, (4, 3))),
    "adaptive_max_pool_3d": ("image", lambda i: k.adaptive_max_pool(volume(i), (2, 3, 3))),
    "dot_product_attention": ("image", lambda i: k.dot_product_attention(*[k.reshape(i, (2, 3, 2, 24))[:, :, :, n : n + 8] for n in (0, 8, 16)], is_causal=True)),
    "ctc_loss": ("image", lambda i: ctc(sequence(i) * 4, [[1, 2, 2, 3], [4, 1, 0, 0]])),
    "category_encoding": ("places", lambda i: layers.CategoryEncoding(6)(i)),
    "category_encoding_count": ("places x", lambda i, x: layers.CategoryEncoding(6, output_mode="count")(i, count_weights=k.cast(x[:, :2], "float32"))),
    "discretization": ("x", lambda x: layers.Discretization([-1.0, 0.0, 0.5])(k.cast(x, "float32"))),
    # --- signals and images
    "fft2": ("a", lambda a: k.fft2((a, a * a))), "conj": ("x y", lambda x, y: [k.real(k.conj(tf.complex(x, y))), k.imag(k.conj(tf.complex(x, y)))]),
    "angle": ("x y", lambda x, y: k.angle(tf.complex(x, y))), "real": ("x y", lambda x, y: k.real(tf.complex(x, y))),
    "imag": ("x y", lambda x, y: k.imag(tf.complex(x, y))), "view_as_complex": ("places x", lambda i, x: k.real(k.view_as_complex(x[:, :2]))),
    "unfold": ("image", lambda i: k.sum(k.unfold(k.transpose(i, (0, 3, 1, 2)), 2), axis=1)),
    "fold": ("image", lambda i: k.transpose(k.fold(k.unfold(k.transpose(i, (0, 3, 1, 2)), 2), (6, 8), 2), (0, 2, 3, 1))),
    "crop_images": ("image", lambda i: k.image.crop_images(i, 1, 2, 2, 1)),
    "pad_images": ("image", lambda i: k.image.pad_images(i, 1, 2, 0, 3)),
    "sobel_edges": ("image", k.image.sobel_edges),
    "ssim": ("image", lambda i: k.image.ssim(i, i * 0.8 + 0.1, filter_size=5)),
    "perspective_transform": ("image", perspective),
    "scale_and_translate": ("image", lambda i: k.image.scale_and_translate(i, (2, 7, 5, 3), np.array([1.3, 0.7], i.dtype.name), np.array([0.4, -0.6], i.dtype.name), (1, 2), "linear")),
    "scale_and_translate_plain": ("image", lambda i: k.image.scale_and_translate(i, (2, 4, 9, 3), np.array([0.6, 1.2], i.dtype.name), np.array([0.0, 0.3], i.dtype.name), (1, 2), "cubic", antialias=False)),
}  # fmt: skip

# TensorFlow has some of them for float32 only. There is none of Lu, a projection is
# resampled where it should be transposed, and those of singular and eigenvectors
# depend on their signs.
NO_GRADIENT = {"eigh", "svd", "lu_factor", "perspective_transform", "category_encoding_count"}
FLOAT32_ONLY = {"max_pool_3d", "average_pool_3d", "adaptive_max_pool_3d"}

# The same values in other roundings, where Keras computes in float32 whatever it is given: classes in another order.
AGAIN: dict[str, Case] = {
    "ctc_loss": ("image", lambda i: ctc(k.take(sequence(i) * 4, [0, 8, 7, 6, 5, 4, 3, 2, 1], axis=2), [[8, 7, 7, 6], [5, 8, 0, 0]])),
}  # fmt: skip


def record_more_ops(metadata: dict[str, str]) -> None:
    record_cases("more_ops", MORE_CASES, NO_GRADIENT, FLOAT32_ONLY, metadata, AGAIN)
