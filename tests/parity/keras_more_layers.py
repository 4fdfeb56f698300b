"""Layers that no other record has: merging, activations with options, shapes, embeddings, pictures of another size. Values
and gradients as keras_spatial.py's."""

from __future__ import annotations

from keras import layers

from common import Recording, Shape
from keras_spatial import SEED, Make, layer_case
from keras_support import in_both

FLAT: Shape = (3, 8)
SEQUENCE: Shape = (2, 6, 4)
IMAGE: Shape = (2, 6, 8, 3)

LAYERS: dict[str, tuple[Make, list[Shape]]] = {
    "average": (lambda: layers.Average(), [FLAT, FLAT, FLAT]),
    "maximum": (lambda: layers.Maximum(), [FLAT, FLAT]),
    "minimum": (lambda: layers.Minimum(), [FLAT, FLAT]),
    "multiply": (lambda: layers.Multiply(), [FLAT, FLAT, FLAT]),
    "subtract": (lambda: layers.Subtract(), [FLAT, FLAT]),
    "add": (lambda: layers.Add(), [FLAT, FLAT]),
    "concatenate": (lambda: layers.Concatenate(axis=1), [FLAT, FLAT]),
    "elu": (lambda: layers.ELU(0.7), [FLAT]),
    "leaky_relu": (lambda: layers.LeakyReLU(0.2), [FLAT]),
    "relu": (lambda: layers.ReLU(max_value=0.8, negative_slope=0.1, threshold=0.2), [FLAT]),
    "prelu": (lambda: layers.PReLU(), [SEQUENCE]),
    "prelu_shared": (lambda: layers.PReLU(shared_axes=[1]), [SEQUENCE]),
    "softmax": (lambda: layers.Softmax(axis=1), [SEQUENCE]),
    "permute": (lambda: layers.Permute((2, 1)), [SEQUENCE]),
    "reshape": (lambda: layers.Reshape((4, -1)), [SEQUENCE]),
    "flatten": (lambda: layers.Flatten(), [SEQUENCE]),
    "repeat_vector": (lambda: layers.RepeatVector(3), [FLAT]),
    "rescaling": (lambda: layers.Rescaling(2.5, -0.5), [IMAGE]),
    "dense": (lambda: layers.Dense(5, activation="tanh"), [SEQUENCE]),
    "unit_normalization": (lambda: layers.UnitNormalization(), [SEQUENCE]),
    "up_sampling_2d": (lambda: layers.UpSampling2D((2, 3)), [IMAGE]),
    "up_sampling_2d_bilinear": (lambda: layers.UpSampling2D(2, interpolation="bilinear"), [IMAGE]),
    "global_max_pooling_2d": (lambda: layers.GlobalMaxPooling2D(keepdims=True), [IMAGE]),
    "global_average_pooling_2d": (lambda: layers.GlobalAveragePooling2D(), [IMAGE]),
    "center_crop": (lambda: layers.CenterCrop(4, 5), [IMAGE]),
    "resizing": (lambda: layers.Resizing(9, 5), [IMAGE]),
}


def record_more_layers(metadata: dict[str, str]) -> None:
    recording = Recording()
    recording.whole_number("seed", SEED)
    for name, (make, shapes) in LAYERS.items():
        exact, draw = in_both(lambda dtype: layer_case(make, shapes, dtype))
        for part, value in exact.items():
            recording.add(f"layer/{name}/{part}", value, [draw[part].astype("float32")])
    recording.save("more_layers", metadata)
