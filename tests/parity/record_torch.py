#!/usr/bin/env python3
"""Records losses, gradients and trained weights of three networks in PyTorch.

    python3 tests/parity/record_torch.py

Needs torch and numpy. Writes cnn, cnn_trained, residual and mlp.safetensors beside itself; tests/parity/README.md says
what is in them. Every network runs once in float64 and four times in float32: with and without oneDNN, and with the
batch in two orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

import common
from common import CNN, MLP, RESIDUAL, STEPS, Array, Network, Recording, Switches

Tensors = dict[str, torch.Tensor]
Forward = Callable[[torch.Tensor, Tensors, Switches], torch.Tensor]


# --- pieces; images are [B, C, H, W] here -----------------------------------------------------------------


def relu(x: torch.Tensor, switches: Switches) -> torch.Tensor:
    switches.add(x.detach().double().numpy())
    return F.relu(x)


def max_pool(x: torch.Tensor, switches: Switches) -> torch.Tensor:
    """Of 2 x 2 windows after a ReLU: where the largest is 0, no gradient passes and a tie does not matter."""
    windows = x.detach().unfold(2, 2, 2).unfold(3, 2, 2).flatten(4)
    top = windows.topk(2, dim=-1).values.double().numpy()
    switches.add(top[..., 0] - top[..., 1], top[..., 0] > 0)
    return F.max_pool2d(x, 2)


def conv(x: torch.Tensor, weights: Tensors, name: str, stride: int = 1) -> torch.Tensor:
    """Keras's "same" padding: at stride 2 and an even extent, one row below and one column to the right."""
    kernel = weights[f"{name}/kernel"]
    top, bottom = common.same_padding(x.shape[2], kernel.shape[0], stride)
    left, right = common.same_padding(x.shape[3], kernel.shape[1], stride)
    return F.conv2d(F.pad(x, (left, right, top, bottom)), kernel.permute(3, 2, 0, 1), stride=stride)


def batch_norm(x: torch.Tensor, weights: Tensors, name: str) -> torch.Tensor:
    gamma, beta = weights[f"{name}/gamma"], weights[f"{name}/beta"]
    return F.batch_norm(x, None, None, gamma, beta, training=True, eps=1e-3)


# --- networks; weights keep Keras's layouts, so that gradients have them too -------------------------------


def cnn(images: torch.Tensor, weights: Tensors, switches: Switches) -> torch.Tensor:
    x = images.permute(0, 3, 1, 2)
    for name in ("conv1", "conv2"):
        kernel = weights[f"{name}/kernel"].permute(3, 2, 0, 1)
        x = max_pool(relu(F.conv2d(x, kernel, weights[f"{name}/bias"]), switches), switches)
    return x.permute(0, 2, 3, 1).flatten(1) @ weights["dense/kernel"] + weights["dense/bias"]


def residual(images: torch.Tensor, weights: Tensors, switches: Switches) -> torch.Tensor:
    def conv_norm(x: torch.Tensor, name: str, stride: int = 1) -> torch.Tensor:
        return batch_norm(conv(x, weights, name, stride), weights, f"{name}_bn")

    x = relu(conv_norm(images.permute(0, 3, 1, 2), "stem"), switches)
    inner = relu(conv_norm(x, "block1_a"), switches)
    x = relu(conv_norm(inner, "block1_b") + x, switches)
    inner = relu(conv_norm(x, "block2_a", stride=2), switches)
    x = relu(conv_norm(inner, "block2_b") + conv_norm(x, "project", stride=2), switches)
    return x.mean(dim=(2, 3)) @ weights["dense/kernel"] + weights["dense/bias"]


def mlp(x: torch.Tensor, weights: Tensors, switches: Switches) -> torch.Tensor:
    del switches  # gelu is smooth
    for layer in ("1", "2"):
        x = x @ weights[f"dense{layer}/kernel"] + weights[f"dense{layer}/bias"]
        x = F.layer_norm(x, x.shape[1:], weights[f"norm{layer}/gamma"], weights[f"norm{layer}/beta"], eps=1e-3)
        x = F.gelu(x)
    return x @ weights["dense3/kernel"] + weights["dense3/bias"]


# --- runs -------------------------------------------------------------------------------------------------


@dataclass
class Run:
    losses: Array
    gradients: dict[str, Array]  # of the first step
    trained: dict[str, Array]  # weights after the last
    switches: Switches  # of the first step


def train(network: Network, forward: Forward, dtype: torch.dtype, reverse: bool) -> Run:
    """STEPS steps of plain SGD, every one on its own batch."""
    order = np.arange(network.batch)[:: -1 if reverse else 1].copy()
    weights = {
        parameter.name: torch.from_numpy(start).to(dtype).requires_grad_()
        for parameter, start in zip(network.parameters, network.weights())
    }
    losses: list[float] = []
    gradients: dict[str, Array] = {}
    first_switches = Switches()
    for step in range(STEPS):
        images = torch.from_numpy(network.images(step)[order]).to(dtype)
        labels = torch.from_numpy(network.labels(step)[order])
        logits = forward(images, weights, first_switches if step == 0 else Switches())
        loss = F.cross_entropy(logits, labels)
        slopes = torch.autograd.grad(loss, list(weights.values()))
        if step == 0:
            gradients = {name: slope.numpy().copy() for name, slope in zip(weights, slopes)}
        with torch.no_grad():
            for weight, slope in zip(weights.values(), slopes):
                weight -= network.learning_rate * slope
        losses.append(loss.item())
    trained = {name: weight.detach().numpy() for name, weight in weights.items()}
    return Run(np.array(losses), gradients, trained, first_switches)


def float32_runs(network: Network, forward: Forward) -> list[Run]:
    runs: list[Run] = []
    for onednn in (True, False):
        with torch.backends.mkldnn.flags(enabled=onednn):
            runs += [train(network, forward, torch.float32, reverse) for reverse in (False, True)]
    return runs


def add_each(recording: Recording, prefix: str, exact: dict[str, Array], draws: Sequence[dict[str, Array]]) -> None:
    for name, value in exact.items():
        recording.add(f"{prefix}/{name}", value, [draw[name] for draw in draws])


def record(network: Network, forward: Forward, metadata: dict[str, str]) -> None:
    exact = train(network, forward, torch.float64, reverse=False)
    draws = float32_runs(network, forward)
    exact.switches.check(network.name, [draw.switches for draw in draws[::2]])  # those in the batch's own order

    recording = Recording()
    recording.describe(network)
    recording.plain("learning_rate", network.learning_rate)
    recording.add_rows("loss", exact.losses, [draw.losses for draw in draws])
    add_each(recording, "gradient", exact.gradients, [draw.gradients for draw in draws])
    trained = Recording() if network is CNN else recording  # its weights are a file of their own size
    add_each(trained, "trained", exact.trained, [draw.trained for draw in draws])
    recording.save(network.name, metadata)
    if trained is not recording:
        trained.save(f"{network.name}_trained", metadata)


def main() -> None:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    metadata = {"made_by": "tests/parity/record_torch.py", "torch": torch.__version__}
    record(CNN, cnn, metadata)
    record(RESIDUAL, residual, metadata)
    record(MLP, mlp, metadata)


if __name__ == "__main__":
    main()
