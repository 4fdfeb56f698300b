"""The four networks in Keras: the depthwise-separable one in full, and all of them under Adam.

PyTorch has no "same" padding at stride 2, no separable convolution and another epsilon in Adam, so these are
recorded here.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from common import CNN, HERE, MLP, RESIDUAL, SEPARABLE, STEPS, Array, Network, Recording, Switches, tolerance
from keras_support import precision, tensor, with_exact_constants

KerasTensor = keras.KerasTensor
Build = Callable[[KerasTensor], KerasTensor]


def cnn(x: KerasTensor) -> KerasTensor:
    x = layers.Conv2D(32, 3, activation="relu", name="conv1")(x)
    x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(64, 3, activation="relu", name="conv2")(x)
    x = layers.MaxPooling2D(2)(x)
    return layers.Dense(10, name="dense")(layers.Flatten()(x))


def residual(x: KerasTensor) -> KerasTensor:
    def conv_norm(x: KerasTensor, filters: int, name: str, size: int = 3, strides: int = 1) -> KerasTensor:
        x = layers.Conv2D(filters, size, strides=strides, padding="same", use_bias=False, name=name)(x)
        return layers.BatchNormalization(name=f"{name}_bn")(x)

    x = layers.ReLU()(conv_norm(x, 8, "stem"))
    inner = layers.ReLU()(conv_norm(x, 8, "block1_a"))
    x = layers.ReLU()(layers.Add()([conv_norm(inner, 8, "block1_b"), x]))
    inner = layers.ReLU()(conv_norm(x, 16, "block2_a", strides=2))
    inner = conv_norm(inner, 16, "block2_b")
    x = layers.ReLU()(layers.Add()([inner, conv_norm(x, 16, "project", size=1, strides=2)]))
    return layers.Dense(10, name="dense")(layers.GlobalAveragePooling2D()(x))


def separable(x: KerasTensor) -> KerasTensor:
    x = layers.Conv2D(8, 3, strides=2, padding="same", name="stem")(x)
    x = layers.Activation("relu")(x)
    x = layers.DepthwiseConv2D(3, strides=2, padding="same", name="depthwise1")(x)
    x = layers.Activation("relu6")(x)
    x = layers.SeparableConv2D(16, 3, padding="same", depth_multiplier=2, name="separable")(x)
    x = layers.Activation("relu")(x)
    x = layers.DepthwiseConv2D(4, padding="same", name="depthwise2")(x)
    x = layers.Activation("relu6")(x)
    return layers.Dense(10, name="dense")(layers.GlobalAveragePooling2D()(x))


def mlp(x: KerasTensor) -> KerasTensor:
    for layer in ("1", "2"):
        x = layers.Dense(48, name=f"dense{layer}")(x)
        x = layers.LayerNormalization(name=f"norm{layer}")(x)
        x = layers.Activation("gelu")(x)
        x = layers.Dropout(0.0)(x)
    return layers.Dense(10, name="dense3")(x)


@dataclass
class Run:
    losses: Array
    gradients: dict[str, Array]  # of the first step
    trained: dict[str, Array]  # trainable weights after the last
    moving: dict[str, Array]  # the others
    switches: Switches  # of the first step


def make(network: Network, build: Build) -> tuple[keras.Model, list[keras.Variable]]:
    """A model with the network's first weights, and its trainable variables in the network's order."""
    inputs = keras.Input(network.input_shape)
    model = keras.Model(inputs, build(inputs))
    taken: dict[str, int] = {}
    variables: list[keras.Variable] = []
    for parameter, start in zip(network.parameters, network.weights()):
        layer = parameter.name.split("/")[0]
        variable = model.get_layer(layer).trainable_variables[taken.get(layer, 0)]
        taken[layer] = taken.get(layer, 0) + 1
        assert tuple(variable.shape) == parameter.shape, parameter.name
        variable.assign(start.astype(variable.dtype))
        variables.append(variable)
    assert len(variables) == len(model.trainable_variables)
    return model, variables


def switches_of(model: keras.Model, images: tf.Tensor, order: Array) -> Switches:
    """Of the Activation layers "relu" and "relu6", with the batch in its own order again."""
    found = Switches()
    activations = [layer for layer in model.layers if isinstance(layer, layers.Activation)]
    for layer in activations:
        z = keras.Model(model.inputs, layer.input)(images).numpy().astype(np.float64)[np.argsort(order)]
        if layer.activation is keras.activations.relu6:
            z = np.where(np.abs(z) < np.abs(z - 6), z, z - 6)
        found.add(z)
    return found


def train(network: Network, build: Build, optimizer: keras.optimizers.Optimizer, dtype: str, order: Array) -> Run:
    model, variables = make(network, build)
    loss_function = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    losses: list[float] = []
    gradients: dict[str, Array] = {}
    names = [parameter.name for parameter in network.parameters]
    first_switches = switches_of(model, tensor(network.images(0)[order], dtype), order)
    for step in range(STEPS):
        images, labels = tensor(network.images(step)[order], dtype), tensor(network.labels(step)[order], dtype)
        with tf.GradientTape() as tape:
            loss = loss_function(labels, model(images, training=True))
        slopes = tape.gradient(loss, [variable.value for variable in variables])
        if step == 0:
            gradients = {name: slope.numpy() for name, slope in zip(names, slopes)}
        optimizer.apply(slopes, variables)
        losses.append(float(loss))
    trained = {name: variable.numpy() for name, variable in zip(names, variables)}
    moving = {variable.path: variable.numpy() for variable in model.non_trainable_variables}
    return Run(np.array(losses), gradients, trained, moving, first_switches)


def run_all(network: Network, build: Build, make_optimizer: Callable[[], keras.optimizers.Optimizer]) -> tuple[Run, list[Run]]:
    """Once in float64, and in float32 with the batch in three orders."""
    forward = np.arange(network.batch)
    with precision("float64"):
        exact = train(network, build, with_exact_constants(make_optimizer()), "float64", forward)
    with precision("float32"):
        orders = (forward, forward[::-1].copy(), np.roll(forward, 3))
        draws = [train(network, build, make_optimizer(), "float32", order) for order in orders]
    return exact, draws


def record_separable(metadata: dict[str, str]) -> None:
    exact, draws = run_all(SEPARABLE, separable, lambda: keras.optimizers.SGD(SEPARABLE.learning_rate))
    exact.switches.check(SEPARABLE.name, [draw.switches for draw in draws])
    recording = Recording()
    recording.describe(SEPARABLE)
    recording.plain("learning_rate", SEPARABLE.learning_rate)
    recording.add_rows("loss", exact.losses, [draw.losses for draw in draws])
    for name, value in exact.gradients.items():
        recording.add(f"gradient/{name}", value, [draw.gradients[name] for draw in draws])
    for name, value in exact.trained.items():
        recording.add(f"trained/{name}", value, [draw.trained[name] for draw in draws])
    recording.save(SEPARABLE.name, metadata)


def read_recording(name: str) -> dict[str, Array]:
    data = (HERE / f"{name}.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    body = data[8 + length :]
    types = {"F32": np.float32, "I64": np.int64}
    return {
        key: np.frombuffer(body[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(entry["shape"])
        for key, entry in json.loads(data[8 : 8 + length]).items()
        if key != "__metadata__"
    }


def check_against_torch(network: Network, draw: Run) -> None:
    """Keras's float32 gradients meet PyTorch's recording within the tolerance that Stoker has to meet."""
    recorded = read_recording(network.name)
    worst = 0.0
    for name, gradient in draw.gradients.items():
        expected = recorded[f"gradient/{name}"]
        allowed = tolerance(float(recorded[f"noise/gradient/{name}"]), float(np.max(np.abs(expected))))
        worst = max(worst, float(np.max(np.abs(gradient - expected))) / allowed)
    print(f"{network.name}: Keras's gradients differ from PyTorch's by at most {worst:.2f} of the tolerance")
    if worst > 1:
        raise SystemExit(f"{network.name}: the two peers disagree")


def record_adam(metadata: dict[str, str]) -> None:
    recording = Recording()
    for network, build in ((CNN, cnn), (RESIDUAL, residual), (SEPARABLE, separable), (MLP, mlp)):
        exact, draws = run_all(network, build, lambda: keras.optimizers.Adam(network.adam_learning_rate))
        if network is not SEPARABLE:
            check_against_torch(network, draws[0])
        recording.plain(f"{network.name}/learning_rate", network.adam_learning_rate)
        recording.add_rows(f"{network.name}/loss", exact.losses, [draw.losses for draw in draws])
        for name, value in exact.moving.items():
            recording.add(f"{network.name}/{name}", value, [draw.moving[name] for draw in draws])
    recording.save("adam", metadata)
