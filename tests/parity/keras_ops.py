"""keras.ops: values and gradients of every function that Stoker has under the same name (or nearly so).

What is not here: sparsemax (Keras 3.15 adds up the running sums of the support), istft (TensorFlow divides the ends by
what infinitely many windows would add up to), bicubic resizing without antialias (TensorFlow's weights come from a table of
1024), and the gradient of scatter_update by values that others overwrite (TensorFlow gives them one).

A case is a name, the inputs it reads and a function of them. Results of whole numbers and of truth are recorded as
floats; float results also have the gradient of a weighted sum of them by every float input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops as k

from common import Array, Recording, integers, uniform
from keras_support import in_both, tensor

SEED = 77
WEIGHT_STREAM = 100

INPUTS: dict[str, Array] = {
    "x": uniform(SEED, 0, (4, 6), 2.0),
    "y": uniform(SEED, 1, (4, 6), 2.0),
    "u": uniform(SEED, 2, (4, 6), 0.9),  # inside (-1, 1)
    "p": uniform(SEED, 3, (4, 6), 1.0, 1.5),  # positive
    "v": uniform(SEED, 4, (6,), 2.0),
    "w": uniform(SEED, 5, (6,), 2.0),
    "a": uniform(SEED, 6, (2, 4, 4), 1.0) + 4 * np.eye(4, dtype=np.float32),
    "b": uniform(SEED, 7, (2, 4, 3), 1.0),
    "t": uniform(SEED, 8, (2, 3, 4), 1.0),
    "image": uniform(SEED, 9, (2, 6, 8, 3), 0.5, 0.5),
    "signal": uniform(SEED, 10, (2, 40), 1.0),
    "rows": uniform(SEED, 11, (3, 5), 1.0),
    "ids": integers(SEED, 20, 4, 3),
    "places": integers(SEED, 21, 8, 6).reshape(4, 2),
    "whole": integers(SEED, 22, 24, 50).reshape(4, 6) - 25,
    "other": integers(SEED, 23, 24, 9).reshape(4, 6) + 1,
}


def spd(a: Any) -> Any:
    return k.matmul(a, k.transpose(a, (0, 2, 1))) / 4


def split_pair(s: Any) -> tuple[Any, Any]:
    return s[..., :20], s[..., 20:]


def with_gaps(x: Any) -> Any:
    return k.where(x > 1.2, k.cast(np.nan, x.dtype), x)


def as_logits(i: Any) -> Any:
    """[2, 16, 18 / 2]"""
    return k.reshape(i, (2, 16, 9)) * 8


def parts(z: Any) -> tuple[Any, Any]:
    return k.real(z), k.imag(z)


Case = tuple[str, Callable[..., Any]]
CASES: dict[str, Case] = {
    # --- elementwise
    "expm1": ("x", k.expm1), "exp2": ("x", k.exp2), "log2": ("p", k.log2), "log10": ("p", k.log10),
    "tan": ("u", k.tan), "arcsin": ("u", k.arcsin), "arccos": ("u", k.arccos), "arctan": ("x", k.arctan),
    "arctan2": ("x y", k.arctan2), "sinh": ("x", k.sinh), "cosh": ("x", k.cosh), "arcsinh": ("x", k.arcsinh),
    "arccosh": ("p", lambda p: k.arccosh(p + 1)), "arctanh": ("u", k.arctanh), "erfinv": ("u", k.erfinv),
    "erfc": ("x", k.erfc), "logaddexp": ("x y", k.logaddexp), "logaddexp2": ("x y", k.logaddexp2),
    "hypot": ("x y", k.hypot), "cbrt": ("p", k.cbrt), "sinc": ("x", k.sinc),
    "ceil": ("x", k.ceil), "round": ("x", k.round), "round_2": ("x", lambda x: k.round(x, 2)), "trunc": ("x", k.trunc),
    "mod": ("x p", k.mod), "floor_divide": ("x p", k.floor_divide), "fmod": ("x p", k.fmod),
    "mod_whole": ("whole other", k.mod), "floor_divide_whole": ("whole other", k.floor_divide),
    "divide_no_nan": ("x y", lambda x, y: k.divide_no_nan(x, k.where(y > 0, y, 0))),
    "deg2rad": ("x", k.deg2rad), "rad2deg": ("x", k.rad2deg), "heaviside": ("x", lambda x: k.heaviside(x, 0.5)),
    "fmax": ("x y", k.fmax), "fmin": ("x y", k.fmin), "signbit": ("x", k.signbit), "i0": ("x", k.i0),
    "bitwise_and": ("whole other", k.bitwise_and), "bitwise_or": ("whole other", k.bitwise_or),
    "bitwise_xor": ("whole other", k.bitwise_xor), "bitwise_not": ("whole", k.bitwise_not),
    "left_shift": ("whole other", k.left_shift), "right_shift": ("whole other", k.right_shift),
    "gcd": ("whole other", k.gcd), "lcm": ("whole other", k.lcm),
    "logical_and": ("x y", lambda x, y: k.logical_and(x > 0, y > 0)),
    "logical_or": ("x y", lambda x, y: k.logical_or(x > 0, y > 0)),
    "logical_xor": ("x y", lambda x, y: k.logical_xor(x > 0, y > 0)),
    "logical_not": ("x", lambda x: k.logical_not(x > 0)),
    "isclose": ("x y", lambda x, y: k.isclose(x, y, rtol=0.5)),
    # --- arrays
    "stack": ("x y", lambda x, y: k.stack([x, y], 1)), "unstack": ("x", lambda x: k.unstack(x, axis=1)),
    "flip": ("x", lambda x: k.flip(x, 1)), "flip_all": ("t", k.flip), "roll": ("x", lambda x: k.roll(x, 2, 1)),
    "roll_flat": ("x", lambda x: k.roll(x, -3)), "rot90": ("image", lambda i: k.rot90(i, 1, (1, 2))),
    "rot90_3": ("x", lambda x: k.rot90(x, 3)), "tile": ("x", lambda x: k.tile(x, (2, 1, 3))),
    "repeat": ("x", lambda x: k.repeat(x, 2, axis=1)), "repeat_own": ("x", lambda x: k.repeat(x, [1, 0, 2, 1], axis=0)),
    "moveaxis": ("t", lambda t: k.moveaxis(t, (0, 1), (2, 0))), "swapaxes": ("t", lambda t: k.swapaxes(t, 0, 2)),
    "hstack": ("x y", lambda x, y: k.hstack([x, y])), "vstack": ("x y", lambda x, y: k.vstack([x, y])),
    "dstack": ("x y", lambda x, y: k.dstack([x, y])), "append": ("x v", k.append),
    "split_at": ("x", lambda x: k.split(x, [1, 4], axis=1)), "array_split": ("x", lambda x: k.array_split(x, 4, axis=1)),
    "tril": ("a", lambda a: k.tril(a, -1)), "triu": ("a", lambda a: k.triu(a, 1)),
    "diagonal": ("a", lambda a: k.diagonal(a, 1, 1, 2)), "trace": ("a", lambda a: k.trace(a, 0, 1, 2)),
    "diag": ("v", lambda v: k.diag(v, 1)), "diag_of": ("x", lambda x: k.diag(x, -1)),
    "meshgrid": ("v w", lambda v, w: k.meshgrid(v, w)), "vander": ("v", lambda v: k.vander(v, 4)),
    "take": ("x places", lambda x, i: k.take(x, i, axis=1)), "take_flat": ("x places", k.take),
    "take_along_axis": ("x places", lambda x, i: k.take_along_axis(x, i, axis=1)),
    "slice_update": ("x", lambda x: k.slice_update(x, (1, 2), x[:2, :3] * 3)),
    "scatter": ("places x", lambda i, x: k.scatter(i, x[:, 0], (6, 6))),
    "scatter_update": ("y places x", lambda y, i, x: k.scatter_update(y, k.stack([k.arange(4, dtype="int64"), i[:, 0]], 1), x[:, 0])),
    "segment_sum": ("x ids", lambda x, i: k.segment_sum(x, i, 3)),
    "segment_max": ("x ids", lambda x, i: k.segment_max(x, k.minimum(i, 1), 2)),
    "bincount": ("places", lambda i: k.bincount(k.reshape(i, (-1,)), minlength=6)),
    "depth_to_space": ("image", lambda i: k.depth_to_space(k.concatenate([i] * 4, -1), 2)),
    "space_to_depth": ("image", lambda i: k.space_to_depth(i, 2)),
    "nonzero": ("whole", lambda w: [k.pad(i[:7], [[0, 7 - min(len(i), 7)]], constant_values=-1) for i in k.nonzero(w > 12)]),
    "nonzero_all": ("whole", lambda w: [k.pad(i, [[0, 24 - len(i)]]) for i in k.nonzero(w > 0)]),
    "unique": ("other", lambda o: k.unique(o, return_inverse=True, return_counts=True, size=12, fill_value=-1)),
    "unique_index": ("x", lambda x: k.unique(x, return_index=True, size=20)),
    "unique_rows": ("places", lambda i: k.unique(i % 2, return_inverse=True, return_counts=True, axis=0, size=5)),
    "unique_columns": ("other", lambda o: k.unique(o % 2, return_counts=True, axis=1, size=3)),
    "extract_sequences": ("signal", lambda s: k.extract_sequences(s, 8, 5)),
    "rearrange": ("image", lambda i: k.rearrange(i, "b (h s) w c -> b h (s c) w", s=2)),
    # --- order and statistics
    "sort": ("x", lambda x: k.sort(x, axis=0)), "argsort": ("x", k.argsort), "argmin": ("x", lambda x: k.argmin(x, 1)),
    "top_k": ("x", lambda x: k.top_k(x, 3)), "median": ("x", lambda x: k.median(x, axis=1)),
    "quantile": ("x", lambda x: k.quantile(x, [0.1, 0.75], axis=0)), "cumsum": ("x", lambda x: k.cumsum(x, axis=0)),
    "cumprod": ("x", lambda x: k.cumprod(x, axis=1)), "diff": ("x", lambda x: k.diff(x, 2, axis=1)),
    "searchsorted": ("v w", lambda v, w: k.searchsorted(k.sort(v), w)), "trapezoid": ("x", k.trapezoid),
    "any": ("x", lambda x: k.any(x > 1.5, axis=1)), "all": ("x", lambda x: k.all(x > -1.5, axis=1)),
    "ptp": ("x", lambda x: k.ptp(x, axis=1)), "count_nonzero": ("ids", k.count_nonzero),
    "var": ("x", lambda x: k.var(x, axis=1)), "std": ("x", lambda x: k.std(x, axis=0, keepdims=True)),
    "average": ("x p", lambda x, p: k.average(x, axis=1, weights=p)),
    "logsumexp": ("x", lambda x: k.logsumexp(x, axis=1)), "norm": ("x", lambda x: k.norm(x, axis=1)),
    "norm_1": ("x", lambda x: k.norm(x, ord=1, axis=1)), "norm_nuc": ("a", lambda a: k.norm(a, ord="nuc", axis=(1, 2))),
    "norm_inf": ("a", lambda a: k.norm(a, ord=np.inf, axis=(1, 2))),
    "moments": ("x", lambda x: k.moments(x, axes=[0])), "corrcoef": ("rows", k.corrcoef),
    "nanmedian": ("x", lambda x: k.nanmedian(with_gaps(x), axis=1)),
    "nanquantile": ("x", lambda x: k.nanquantile(with_gaps(x), [0.1, 0.75], axis=0)),
    "nanquantile_higher": ("x", lambda x: k.nanquantile(with_gaps(x), 0.3, method="higher")),
    "nanpercentile": ("x", lambda x: k.nanpercentile(with_gaps(x), 40.0, axis=1, keepdims=True)),
    "correlate": ("signal v", lambda s, v: k.correlate(s[0], v, mode="same")),
    # --- products
    "einsum": ("t b", lambda t, b: k.einsum("bij,bjk->kbi", t, b)), "einsum_trace": ("a", lambda a: k.einsum("bii->b", a)),
    "einsum_three": ("t b v", lambda t, b, v: k.einsum("bij,bjk,m->im", t, b, v)),
    "einsum_dots": ("t b", lambda t, b: k.einsum("...ij,...jk->...ik", t, b)),
    "dot": ("x v", k.dot), "inner": ("x y", k.inner), "outer": ("v w", k.outer), "vdot": ("x y", k.vdot),
    "kron": ("x rows", k.kron), "cross": ("image", lambda i: k.cross(i, k.flip(i, 2))),
    "tensordot": ("t b", lambda t, b: k.tensordot(t, b, axes=([0, 2], [0, 1]))),
    # --- linear algebra
    "cholesky": ("a", lambda a: k.cholesky(spd(a))), "solve": ("a b", k.solve), "inv": ("a", k.inv), "det": ("a", k.det),
    "solve_triangular": ("a b", lambda a, b: k.solve_triangular(k.tril(a), b, lower=True)),
    "qr": ("a", k.qr), "eigh_values": ("a", lambda a: k.eigh(spd(a))[0]),
    "svd_values": ("b", lambda b: k.svd(b, full_matrices=False, compute_uv=False)),
    "lstsq": ("rows", lambda r: k.lstsq(k.transpose(r), k.transpose(r)[:, :1] * 2 + 1)),
    # --- nn
    "glu": ("x", k.glu), "sparse_plus": ("x", k.sparse_plus),
    "sparse_sigmoid": ("x", k.sparse_sigmoid), "celu": ("x", lambda x: k.celu(x, 0.7)),
    "squareplus": ("x", lambda x: k.squareplus(x, 2)), "threshold": ("x", lambda x: k.threshold(x, 0.3, -1)),
    "hard_shrink": ("x", lambda x: k.hard_shrink(x, 0.8)), "soft_shrink": ("x", lambda x: k.soft_shrink(x, 0.8)),
    "normalize": ("x", lambda x: k.normalize(x, axis=0)), "normalize_3": ("x", lambda x: k.normalize(x, order=3)),
    "layer_normalization": ("x v", lambda x, v: k.layer_normalization(x, gamma=v, epsilon=1e-3)),
    "rms_normalization": ("x v", lambda x, v: k.rms_normalization(x, v, epsilon=1e-3)),
    "batch_normalization": ("x v w", lambda x, v, w: k.batch_normalization(x, v, w * w, 1, scale=w, epsilon=1e-3)),
    "binary_crossentropy": ("p", lambda p: k.binary_crossentropy(k.cast(p > 1.2, p.dtype), p / 3)),
    "categorical_crossentropy": ("p x", lambda p, x: k.categorical_crossentropy(p, p * 2 + x * x)),
    "sparse_categorical_crossentropy": ("ids p", lambda i, p: k.sparse_categorical_crossentropy(i, p)),
    "ctc_greedy": ("image", lambda i: k.ctc_decode(as_logits(i), [16, 11])),
    "ctc_repeated": ("image", lambda i: k.ctc_decode(as_logits(i), [16, 11], merge_repeated=False, mask_index=4)),
    "ctc_beam": ("image", lambda i: k.ctc_decode(as_logits(i)[:, :6], [6, 4], "beam_search", beam_width=50, top_paths=3)),
    "multi_hot": ("places", lambda i: k.multi_hot(i, 6)), "psnr": ("x y", lambda x, y: k.psnr(x, y, 4.0)),
    # --- signals and images
    "fft": ("signal", lambda s: k.fft(split_pair(s))), "ifft2": ("a", lambda a: k.ifft2((a, a * a))),
    "rfft": ("signal", lambda s: k.rfft(s, 48)), "irfft": ("signal", lambda s: k.irfft(split_pair(s))),
    "polar": ("p x", lambda p, x: parts(k.polar(p, x))),
    "conjugate": ("b", lambda b: parts(k.conjugate(k.view_as_complex(b[..., :2])))),
    "view_as_real": ("x y", lambda x, y: k.view_as_real(tf.complex(x, y))),
    "jvp": ("x y v", lambda x, y, v: sum(k.jvp(lambda a, b: (k.sin(a) * b, k.exp(a * 0.5)), (x, v), (y, v * v)), ())),
    "stft": ("signal", lambda s: k.stft(s, 12, 5, 16)),
    "resize_bilinear": ("image", lambda i: k.image.resize(i, (9, 5))),
    "resize_nearest": ("image", lambda i: k.image.resize(i, (9, 5), interpolation="nearest")),
    "resize_bicubic": ("image", lambda i: k.image.resize(i, (3, 4), interpolation="bicubic", antialias=True)),
    "resize_lanczos3": ("image", lambda i: k.image.resize(i, (9, 5), interpolation="lanczos3")),
    "resize_antialias": ("image", lambda i: k.image.resize(i, (3, 4), antialias=True)),
    "resize_crop": ("image", lambda i: k.image.resize(i, (6, 4), crop_to_aspect_ratio=True)),
    "affine_transform": ("image", lambda i: k.image.affine_transform(i, np.array([0.9, 0.2, 0.3, -0.1, 1.1, 0.2, 0, 0], "float32"))),
    "affine_reflect": ("image", lambda i: k.image.affine_transform(i, np.array([1.4, 0.2, -2.3, -0.1, 1.3, -1.2, 0, 0], "float32"), fill_mode="reflect")),
    "map_coordinates": ("x u", lambda x, u: k.image.map_coordinates(x, k.stack([u[0] * 2 + 1.5, u[1] * 4 + 2.5]), 1)),
    "extract_patches": ("image", lambda i: k.image.extract_patches(i, (2, 3), strides=(2, 2), padding="same")),
    "extract_patches_3d": ("image", lambda i: k.image.extract_patches_3d(k.reshape(i, (2, 3, 4, 4, 3)), (2, 2, 3), (1, 2, 1), padding="same")),
    "extract_patches_3d_valid": ("image", lambda i: k.image.extract_patches_3d(k.reshape(i, (2, 3, 4, 4, 3))[0], 2)),
    "rgb_to_grayscale": ("image", k.image.rgb_to_grayscale), "rgb_to_hsv": ("image", k.image.rgb_to_hsv),
    "hsv_to_rgb": ("image", k.image.hsv_to_rgb), "gaussian_blur": ("image", k.image.gaussian_blur),
}  # fmt: skip

# TensorFlow has none of XlaDynamicUpdateSlice, unique and decoding, and resamples where it should transpose an affine
# transform.
NO_GRADIENT = {
    "slice_update", "affine_transform", "affine_reflect", "unique_index", "ctc_greedy", "ctc_repeated", "ctc_beam"
}  # fmt: skip
FLOAT32_ONLY = {"resize_lanczos3", "resize_bicubic", "resize_antialias"}  # ScaleAndTranslateGrad


def outputs_of(result: Any) -> list[tf.Tensor]:
    many = result if isinstance(result, (tuple, list)) else [result]
    return [k.convert_to_tensor(each) for each in many]


def run_case(case: Case, dtype: str, differentiable: bool = True) -> dict[str, Array]:
    names, function = case
    inputs = {each: tensor(INPUTS[each], dtype) for each in names.split()}
    floats = {each: value for each, value in inputs.items() if value.dtype.is_floating}
    with tf.GradientTape() as tape:
        for value in floats.values():
            tape.watch(value)
        results = outputs_of(function(*inputs.values()))
        sums = []
        for index, result in enumerate(results):
            if result.dtype.is_floating:
                weights = uniform(SEED, WEIGHT_STREAM + index, tuple(result.shape), 1.0)
                sums.append(tf.reduce_sum(result * tf.cast(weights, result.dtype)))
        loss = tf.add_n(sums) if sums else None
    parts = {f"value/{index}": tf.cast(result, "float64").numpy() for index, result in enumerate(results)}
    if loss is not None and differentiable:
        for each, gradient in tape.gradient(loss, floats).items():
            if gradient is not None:
                parts[f"gradient/{each}"] = tf.cast(tf.convert_to_tensor(gradient), "float64").numpy()
    return parts


def record_cases(
    file: str,
    cases: dict[str, Case],
    no_gradient: set[str],
    float32_only: set[str],
    metadata: dict[str, str],
    again: dict[str, Case] | None = None,
) -> None:
    """`again`: a further draw of some cases."""
    recording = Recording()
    recording.whole_number("seed", SEED)
    for name, case in cases.items():
        only = "float32" if name in float32_only else None
        exact, draw = in_both(lambda dtype: run_case(case, only or dtype, name not in no_gradient))
        draws = [draw]
        if again and name in again:
            draws.append(run_case(again[name], "float32", name not in no_gradient))
        for part, value in exact.items():
            recording.add(f"{name}/{part}", value, [each[part].astype("float32") for each in draws])
    recording.save(file, metadata)


def record_ops(metadata: dict[str, str]) -> None:
    record_cases("ops", CASES, NO_GRADIENT, FLOAT32_ONLY, metadata)
