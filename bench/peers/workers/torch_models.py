"""The workloads' models in PyTorch, as its tutorials write them; from version 1.13 on."""

from __future__ import annotations

import torch
from torch import nn

from protocol import threads

SHAPES = {"cnn64": (1, 28, 28), "cnn32": (1, 28, 28), "residual": (3, 32, 32), "mlp": (784,), "photos": (3, 96, 96)}
LEARNING_RATE = 1e-4


def set_threads() -> torch.device:
    torch.set_num_threads(threads())
    torch.set_num_interop_threads(threads())
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _cnn(first: int, second: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, first, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(first, second, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(second * 5 * 5, 10),
    )


class ResidualBlock(nn.Module):
    def __init__(self, channels: int, filters: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, filters, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(filters)
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.norm1(self.conv1(x)))
        return self.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def _residual() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
        ResidualBlock(32, 32, 1), ResidualBlock(32, 64, 2), ResidualBlock(64, 128, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10),
    )


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


class Rescale(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.float() / 255


def _photos() -> nn.Module:
    return nn.Sequential(
        Rescale(), nn.Conv2d(3, 16, 3, 2, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )


def build(name: str) -> nn.Module:
    return {"cnn64": lambda: _cnn(64, 128), "cnn32": lambda: _cnn(32, 64), "residual": _residual, "mlp": _mlp,
            "photos": _photos}[name]()


def adam(model: nn.Module, learning_rate: float = 1e-3) -> torch.optim.Optimizer:
    """The fastest Adam that this PyTorch has for the device."""
    for options in ({"fused": True}, {"foreach": True}, {}):
        try:
            optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, **options)
        except (TypeError, RuntimeError):
            continue
        if _works(optimizer, model):
            return optimizer
    raise RuntimeError("no form of Adam works here")


def _works(optimizer: torch.optim.Optimizer, model: nn.Module) -> bool:
    """A step with zero gradients leaves the weights alone and shows whether this form has a kernel here."""
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    try:
        optimizer.step()
    except RuntimeError:
        return False
    optimizer.zero_grad(set_to_none=True)
    optimizer.state.clear()
    return True
