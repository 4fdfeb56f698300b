"""Multiplications and additions of a training step in the convolutions and matrix products alone: what the measured matmul
peak can be asked for."""

from __future__ import annotations


def _conv(side: int, filters: int, kernel: int, channels: int) -> int:
    return side * side * filters * kernel * kernel * channels


def _layers(model: str) -> list[int]:
    """Multiply-adds a sample of every layer with weights, the first one first."""
    if model in ("cnn64", "cnn32"):
        first, second = (64, 128) if model == "cnn64" else (32, 64)
        return [_conv(26, first, 3, 1), _conv(11, second, 3, first), 25 * second * 10]
    if model == "residual":
        return [_conv(32, 32, 3, 3), _conv(32, 32, 3, 32), _conv(32, 32, 3, 32), _conv(16, 64, 3, 32), _conv(16, 64, 3, 64),
                _conv(16, 64, 1, 32), _conv(8, 128, 3, 64), _conv(8, 128, 3, 128), _conv(8, 128, 1, 64), 1280]
    if model == "mlp":
        return [784 * 512, 512 * 512, 5120]
    raise ValueError(f"no such model: {model}")


def training_step(model: str, batch: int) -> int:
    """Forward, gradient of weights, gradient of inputs; the first layer needs no gradient of its inputs."""
    layers = _layers(model)
    return 2 * batch * (3 * sum(layers) - layers[0])
