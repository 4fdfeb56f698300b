"""What record_torch.py and record_keras.py share: numbers that Stoker can make again, the four networks'
parameters, the noise of float32, and the files.

Weights, inputs, labels and gradients are not stored. Both sides draw them from Philox 4x32-10, the counter-based
generator of include/stoker/random.h, so that a file holds results only.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Array = np.ndarray
Shape = tuple[int, ...]

HERE = Path(__file__).resolve().parent

STEPS = 5  # of a network's training
INPUT_STREAM = 1000  # step k reads its images from stream INPUT_STREAM + k
LABEL_STREAM = 2000  # and its labels from LABEL_STREAM + k; parameter i is drawn from stream i

EPS = 2.0**-23
MULTIPLE = 8  # of the noise, and
ROUNDINGS = 4  # of the largest value, is what the tests allow; tests/parity/comparison.h has the same numbers


# --- numbers ---------------------------------------------------------------------------------------------


def philox(counter: Array, key: tuple[int, int]) -> Array:
    """Four random words a row: counter is uint64 [n, 4] with 32 bits in use, and so is the result."""
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    c0, c1, c2, c3 = (counter[:, word].astype(np.uint64) for word in range(4))
    k0, k1 = key
    for _ in range(10):
        product0 = np.uint64(0xD2511F53) * c0
        product1 = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (
            (product1 >> half) ^ c1 ^ np.uint64(k0),
            product1 & mask,
            (product0 >> half) ^ c3 ^ np.uint64(k1),
            product0 & mask,
        )
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1)


def random_bits(seed: int, stream: int, count: int) -> Array:
    """The first `count` words of the sequence (seed, stream), as uint64."""
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    counter = np.empty((len(blocks), 4), np.uint64)
    counter[:, 0] = blocks & np.uint64(0xFFFFFFFF)
    counter[:, 1] = blocks >> np.uint64(32)
    counter[:, 2] = stream & 0xFFFFFFFF
    counter[:, 3] = stream >> 32
    return philox(counter, (seed & 0xFFFFFFFF, seed >> 32)).reshape(-1)[:count]


def uniform(seed: int, stream: int, shape: Shape, limit: float, centre: float = 0.0) -> Array:
    """float32 in [centre - limit, centre + limit). With a centre the limit is a power of two: the product is then
    exact, and the sum rounds once wherever it is computed."""
    assert centre == 0.0 or math.frexp(limit)[0] == 0.5, "a centre needs a power of two as its limit"
    bits = random_bits(seed, stream, math.prod(shape))
    symmetric = (bits >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1.0)
    return (np.float32(centre) + np.float32(limit) * symmetric).reshape(shape)


def integers(seed: int, stream: int, count: int, below: int) -> Array:
    """int64 in [0, below)."""
    bits = random_bits(seed, stream, count)
    return ((bits >> np.uint64(8)) * np.uint64(below) >> np.uint64(24)).astype(np.int64)


# --- the networks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A weight in Keras's layout, and where its start is drawn."""

    name: str
    shape: Shape
    limit: float
    centre: float = 0.0


@dataclass(frozen=True)
class Network:
    name: str
    seed: int
    batch: int
    input_shape: Shape
    classes: int
    learning_rate: float  # of SGD
    adam_learning_rate: float
    parameters: tuple[Parameter, ...]

    def weights(self) -> list[Array]:
        return [uniform(self.seed, i, p.shape, p.limit, p.centre) for i, p in enumerate(self.parameters)]

    def images(self, step: int) -> Array:
        """float32 in [0, 1), the last axis is the channels."""
        return uniform(self.seed, INPUT_STREAM + step, (self.batch, *self.input_shape), 0.5, 0.5)

    def labels(self, step: int) -> Array:
        return integers(self.seed, LABEL_STREAM + step, self.batch, self.classes)


def kernel(name: str, shape: Shape, fan_in: int | None = None) -> Parameter:
    """He's uniform limit, so that activations keep their size through the layers."""
    fan = fan_in if fan_in is not None else math.prod(shape[:-1])
    return Parameter(f"{name}/kernel", shape, float(np.float32(math.sqrt(6.0 / fan))))


def bias(name: str, size: int) -> Parameter:
    return Parameter(f"{name}/bias", (size,), 0.125)


def norm(name: str, size: int) -> tuple[Parameter, Parameter]:
    return Parameter(f"{name}/gamma", (size,), 0.5, 1.0), Parameter(f"{name}/beta", (size,), 0.25)


CNN = Network(
    name="cnn",
    seed=28,
    batch=8,
    input_shape=(28, 28, 1),
    classes=10,
    learning_rate=2.0**-6,
    adam_learning_rate=2.0**-10,
    parameters=(
        kernel("conv1", (3, 3, 1, 32)),
        bias("conv1", 32),
        kernel("conv2", (3, 3, 32, 64)),
        bias("conv2", 64),
        kernel("dense", (1600, 10)),
        bias("dense", 10),
    ),
)

RESIDUAL = Network(
    name="residual",
    seed=13,
    batch=8,
    input_shape=(16, 16, 3),
    classes=10,
    learning_rate=2.0**-4,
    adam_learning_rate=2.0**-8,
    parameters=(
        kernel("stem", (3, 3, 3, 8)),
        *norm("stem_bn", 8),
        kernel("block1_a", (3, 3, 8, 8)),
        *norm("block1_a_bn", 8),
        kernel("block1_b", (3, 3, 8, 8)),
        *norm("block1_b_bn", 8),
        kernel("block2_a", (3, 3, 8, 16)),
        *norm("block2_a_bn", 16),
        kernel("block2_b", (3, 3, 16, 16)),
        *norm("block2_b_bn", 16),
        kernel("project", (1, 1, 8, 16)),
        *norm("project_bn", 16),
        kernel("dense", (16, 10)),
        bias("dense", 10),
    ),
)

SEPARABLE = Network(
    name="separable",
    seed=3,
    batch=8,
    input_shape=(15, 14, 3),
    classes=10,
    learning_rate=2.0**-4,
    adam_learning_rate=2.0**-8,
    parameters=(
        kernel("stem", (3, 3, 3, 8)),
        bias("stem", 8),
        kernel("depthwise1", (3, 3, 8, 1), fan_in=9),
        bias("depthwise1", 8),
        Parameter("separable/depthwise_kernel", (3, 3, 8, 2), float(np.float32(math.sqrt(6.0 / 9)))),
        Parameter("separable/pointwise_kernel", (1, 1, 16, 16), float(np.float32(math.sqrt(6.0 / 16)))),
        bias("separable", 16),
        kernel("depthwise2", (4, 4, 16, 1), fan_in=16),
        bias("depthwise2", 16),
        kernel("dense", (16, 10)),
        bias("dense", 10),
    ),
)

MLP = Network(
    name="mlp",
    seed=4,
    batch=8,
    input_shape=(32,),
    classes=10,
    learning_rate=2.0**-3,
    adam_learning_rate=2.0**-7,
    parameters=(
        kernel("dense1", (32, 48)),
        bias("dense1", 48),
        *norm("norm1", 48),
        kernel("dense2", (48, 48)),
        bias("dense2", 48),
        *norm("norm2", 48),
        kernel("dense3", (48, 10)),
        bias("dense3", 10),
    ),
)


def same_padding(extent: int, window: int, stride: int) -> tuple[int, int]:
    """Keras's "same": pixels before and after, the odd one after."""
    total = max((math.ceil(extent / stride) - 1) * stride + window - extent, 0)
    return total // 2, total - total // 2


# --- noise -----------------------------------------------------------------------------------------------


def noise(exact: Array, draws: Sequence[Array]) -> float:
    """The farthest that any float32 draw of a result lies from the float64 one."""
    return max(float(np.max(np.abs(np.asarray(draw, np.float64) - exact))) for draw in draws)


def noise_by_row(exact: Array, draws: Sequence[Array]) -> Array:
    """The same for every row of axis 0, where a later row follows from the earlier ones: the noise never shrinks."""
    rows = [noise(exact[row], [np.asarray(draw)[row] for draw in draws]) for row in range(len(exact))]
    return np.maximum.accumulate(np.array(rows))


def tolerance(noise_of_it: float, scale: float) -> float:
    return MULTIPLE * noise_of_it + ROUNDINGS * EPS * scale


class Switches:
    """Distances of a network's ReLUs and max-poolings from where they switch. A gradient jumps there, and no tolerance
    holds across a jump; a recording is refused whose distances do not exceed the tolerated noise."""

    def __init__(self) -> None:
        self.distances: list[tuple[Array, Array]] = []  # (distance, whether a gradient passes)

    def add(self, distance: Array, counts: Array | None = None) -> None:
        self.distances.append((distance, np.ones(distance.shape, bool) if counts is None else counts))

    def check(self, name: str, draws: Sequence[Switches]) -> None:
        for layer, (distance, counts) in enumerate(self.distances):
            spread = noise(distance, [draw.distances[layer][0] for draw in draws])
            margin = float(np.min(np.abs(distance[counts])))
            if margin <= MULTIPLE * spread:
                raise SystemExit(
                    f"{name}: switch {layer} is {margin:.2g} away with noise {spread:.2g}; choose another seed"
                )


# --- files -----------------------------------------------------------------------------------------------


def file_type(array: Array) -> str:
    return {"float32": "F32", "int64": "I64"}[array.dtype.name]


def write_safetensors(path: Path, tensors: dict[str, Array], metadata: dict[str, str]) -> None:
    """Eight bytes of header length, the header as JSON, the tensors row-major and little-endian."""
    header: dict[str, object] = {"__metadata__": metadata}
    offset = 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": file_type(array),
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


class Recording:
    """Results by name. Each is the peer's float64 result, rounded to float32, and has its noise beside it."""

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}

    def plain(self, name: str, value: Array | float) -> None:
        """Something that is no result: a limit, a learning rate."""
        self.tensors[name] = np.asarray(value, np.float32)

    def whole_number(self, name: str, value: int | Sequence[int]) -> None:
        self.tensors[name] = np.asarray(value, np.int64)

    def result(self, name: str, exact: Array | float, noise_of_it: Array | float) -> None:
        self.tensors[name] = np.asarray(exact, np.float32)
        self.tensors[f"noise/{name}"] = np.asarray(noise_of_it, np.float32)

    def add(self, name: str, exact: Array | float, draws: Sequence[Array | float]) -> None:
        exact64 = np.asarray(exact, np.float64)
        self.result(name, exact64, noise(exact64, [np.asarray(draw) for draw in draws]))

    def add_rows(self, name: str, exact: Array, draws: Sequence[Array]) -> None:
        exact64 = np.asarray(exact, np.float64)
        self.result(name, exact64, noise_by_row(exact64, draws))

    def describe(self, network: Network) -> None:
        """What a reader needs to make the network's weights and batches again."""
        self.whole_number("seed", network.seed)
        for parameter in network.parameters:
            self.plain(f"limit/{parameter.name}", np.array([parameter.limit, parameter.centre]))

    def save(self, name: str, metadata: dict[str, str]) -> None:
        path = HERE / f"{name}.safetensors"
        write_safetensors(path, self.tensors, metadata)
        print(f"{path.name}: {len(self.tensors)} tensors, {path.stat().st_size} bytes")
