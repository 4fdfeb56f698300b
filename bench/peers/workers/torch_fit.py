"""A whole training run in PyTorch, from process start: the loop that its tutorials show, for digits from tensors and for a
folder of JPEG files through DataLoader and torchvision."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterable

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fit_report import Report, spec
from make_data import read_idx
from protocol import threads
from torch_models import adam, build, set_threads


def train(model: nn.Module, batches: Iterable[Any], job: dict[str, Any], report: Report, device: torch.device) -> None:
    optimizer, criterion = adam(model), nn.CrossEntropyLoss()
    forward = torch.compile(model) if "compile" in job["variant"] else model
    model.train()
    for _ in range(job["epochs"]):
        report.epoch_begins()
        loss_sum = torch.zeros((), device=device)
        for x, y in batches:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(forward(x), y)
            loss.backward()
            optimizer.step()
            loss_sum += loss.detach()
        loss_sum.item()
        report.epoch_ends()


@torch.no_grad()
def accuracy(model: nn.Module, batches: Iterable[Any], device: torch.device) -> float:
    model.eval()
    right = total = 0
    for x, y in batches:
        right += int((model(x.to(device)).argmax(1) == y.to(device)).sum())
        total += len(y)
    return right / total


class Slices:
    """Shuffled batches cut from whole tensors: what people write when DataLoader is too slow."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor, batch: int) -> None:
        self.x, self.y, self.batch = x, y, batch

    def __iter__(self) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
        for rows in torch.randperm(len(self.x)).split(self.batch):
            yield self.x[rows], self.y[rows]


def fit_digits(job: dict[str, Any], report: Report, device: torch.device) -> tuple[int, float]:
    def part(name: str) -> tuple[torch.Tensor, torch.Tensor]:
        folder = Path(job["folder"])
        images = read_idx(folder / f"{name}-images.idx")[:, None].astype(np.float32) / 255.0
        return torch.from_numpy(images), torch.from_numpy(read_idx(folder / f"{name}-labels.idx").astype(np.int64))

    x, y = part("train")
    x, y = x[: job["samples"]], y[: job["samples"]]
    if "DataLoader" in job["variant"]:
        batches: Any = DataLoader(TensorDataset(x, y), job["batch"], shuffle=True)
    else:
        batches = Slices(x, y, job["batch"])
    model = build("cnn32").to(device)
    if "channels_last" in job["variant"]:
        model = model.to(memory_format=torch.channels_last)
    train(model, batches, job, report, device)
    return len(x), accuracy(model, DataLoader(TensorDataset(*part("t10k")), 256), device)


def fit_scenes(job: dict[str, Any], report: Report, device: torch.device) -> tuple[int, float]:
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    folder = Path(job["folder"])
    random = transforms.Compose([transforms.RandomResizedCrop(96), transforms.RandomHorizontalFlip(), transforms.PILToTensor()])
    whole = transforms.Compose([transforms.Resize((96, 96)), transforms.PILToTensor()])
    data = ImageFolder(str(folder / "train"), random)
    workers = {"num_workers": threads(), "persistent_workers": True}
    batches = DataLoader(data, job["batch"], shuffle=True, pin_memory=device.type == "cuda", **workers)
    model = build("photos").to(device, memory_format=torch.channels_last)
    train(model, batches, job, report, device)
    test = DataLoader(ImageFolder(str(folder / "test"), whole), job["batch"], num_workers=threads())
    return len(data), accuracy(model, test, device)


if __name__ == "__main__":
    DEVICE = set_threads()
    JOB, REPORT = spec(), Report()
    REPORT.print(*{"digits": fit_digits, "scenes": fit_scenes}[JOB["data"]](JOB, REPORT, DEVICE))
