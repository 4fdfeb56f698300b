"""Spectrograms: the layers' values and gradients, and the kernels that a Fourier transform begins with. Equalisation by
tiles, which is made of the same counts and look-ups."""

from __future__ import annotations

import functools

import keras
import numpy as np
from keras import layers

from common import Array, Recording, Shape, uniform
from keras_spatial import SEED, Make, layer_case
from keras_support import in_both, tensor

SOUND: Shape = (2, 40, 2)
SIGNAL: Shape = (2, 90)
PICTURES: dict[str, Shape] = {"whole": (2, 8, 12, 3), "odd": (1, 9, 7, 1)}


def window(name: str, length: int, periodic: bool = False) -> Array:
    """NumPy's, where Keras would ask SciPy; a periodic one leaves out the last of one number more."""
    shapes = {"hann": np.hanning, "hamming": np.hamming, "blackman": np.blackman, "bartlett": np.bartlett}
    return shapes[name](length + periodic)[:length]


def stft(mode: str, length: int, **options: object) -> keras.Layer:
    return layers.STFTSpectrogram(mode, length, window=window("hann", length), **options)


LAYERS: dict[str, tuple[Make, list[Shape]]] = {
    f"stft_{mode}": (lambda mode=mode: stft(mode, 10, frame_step=4, fft_length=16), [SOUND])
    for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft")
}
LAYERS["stft_same"] = (lambda: stft("psd", 8, padding="same", expand_dims=True), [SOUND])


def mel(**options: float | bool | str) -> keras.Layer:
    layer = layers.MelSpectrogram(fft_length=32, sequence_stride=12, num_mel_bins=6, sampling_rate=2000, **options)
    # Both are float32 else, whatever the layer computes in.
    layer.ref_power = np.dtype(layer.compute_dtype).type(layer.ref_power)
    layer.linear_to_mel_weight_matrix = functools.partial(layer.linear_to_mel_weight_matrix, dtype=layer.compute_dtype)
    return layer


LAYERS["mel"] = (lambda: mel(), [SIGNAL])
LAYERS["mel_power"] = (lambda: mel(power_to_db=False, sequence_length=20, window="hamming"), [SIGNAL])
LAYERS["mel_magnitude"] = (lambda: mel(mag_exp=1.0, top_db=12.0, ref_power=2.0, max_freq=700.0), [SIGNAL])

KERNELS: dict[str, tuple[Shape, dict[str, object]]] = {
    "real_hann_density": ((10, 1, 9), {"side": "real", "window": window("hann", 10)}),
    "imag_hamming_spectrum": ((8, 1, 9), {"side": "imag", "window": window("hamming", 8, True), "scaling": "spectrum"}),
    "real_blackman_none": ((9, 1, 5), {"side": "real", "window": window("blackman", 9), "scaling": None}),
    "imag_bartlett_density": ((6, 1, 5), {"side": "imag", "window": window("bartlett", 6)}),
    "real_none": ((7, 1, 9), {"side": "real", "window": None}),
}


def kernel_case(name: str, dtype: str) -> dict[str, Array]:
    shape, options = KERNELS[name]
    return {"values": np.asarray(keras.initializers.STFT(**options)(shape, dtype=dtype))}


def equalised(name: str, dtype: str) -> dict[str, Array]:
    picture = uniform(SEED, 0, PICTURES[name], 128.0, 128.0)
    layer = layers.ContrastLimitedAdaptiveHistogramEqualization(clip_limit=2.0, tile_grid_size=(2, 3))
    unit = layers.ContrastLimitedAdaptiveHistogramEqualization((-1.0, 1.0), clip_limit=0.0, tile_grid_size=(3, 2))
    small = tensor(picture, dtype) / 128 - 1
    return {"levels": np.asarray(layer(tensor(picture, dtype))), "unit": np.asarray(unit(small))}


def record_audio(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)

    def add(name: str, exact: dict[str, Array], draw: dict[str, Array]) -> None:
        for part, value in exact.items():
            recording.add(f"{name}/{part}", value, [draw[part]])

    for name, (make, shapes) in LAYERS.items():
        add(f"layer/{name}", *in_both(lambda dtype: layer_case(make, shapes, dtype)))
    for name in KERNELS:
        add(f"kernel/{name}", *in_both(lambda dtype: kernel_case(name, dtype)))
    for name in PICTURES:
        add(f"equalised/{name}", *in_both(lambda dtype: equalised(name, dtype)))
    recording.save("audio", metadata)
