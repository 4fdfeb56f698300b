"""The pipeline workloads in PyTorch's DataLoader with torchvision, in the process and with worker processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Sequence

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler

from make_data import read_idx
from protocol import Block, Loaded, consume, serve, threads

ENDLESS = 1 << 30  # samples that one sampler hands out: blocks go on in the same epoch


class Digits(Dataset):
    """Map-style: one element at a time, as most programs write it."""

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.images, self.labels = torch.from_numpy(images.copy()), torch.from_numpy(labels.astype(np.int64))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.images[index].float() / 255.0, self.labels[index]


class BatchedDigits(Digits):
    """With __getitems__, which fetches a whole batch at once (PyTorch 2)."""

    def __getitems__(self, indices: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.as_tensor(indices)
        return self.images[chosen].float() / 255.0, self.labels[chosen]


def _as_it_is(batch: Any) -> Any:
    return batch


def loader_of(data: Dataset, batch: int, workers: int, **options: Any) -> DataLoader:
    epoch_and_more = RandomSampler(data, replacement=False, num_samples=len(data) * 200)
    if workers:
        options |= {"prefetch_factor": 4, "persistent_workers": True}
    return DataLoader(data, batch_size=batch, sampler=epoch_and_more, num_workers=workers, drop_last=True, **options)


def memory(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    folder, batch = Path(workload["mnist"]), workload["batch"]
    arrays = read_idx(folder / "train-images.idx"), read_idx(folder / "train-labels.idx")
    variants: dict[str, Callable[[], Block]] = {
        "in the process": lambda: consume(loader_of(Digits(*arrays), batch, 0)),
        f"{threads()} workers": lambda: consume(loader_of(Digits(*arrays), batch, threads())),
    }
    if int(torch.__version__.split(".")[0]) >= 2:
        variants["__getitems__, in the process"] = lambda: consume(
            loader_of(BatchedDigits(*arrays), batch, 0, collate_fn=_as_it_is))
        variants[f"__getitems__, {threads()} workers"] = lambda: consume(
            loader_of(BatchedDigits(*arrays), batch, threads(), collate_fn=_as_it_is))
    return variants


def _decode_to_tensor(path: str) -> torch.Tensor:
    from torchvision.io import ImageReadMode, read_image

    return read_image(path, ImageReadMode.RGB)


def photos(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    def build(workers: int, tensors: bool) -> Block:
        steps: list[Any] = [transforms.RandomResizedCrop(workload["size"]), transforms.RandomHorizontalFlip()]
        options: dict[str, Any] = {"loader": _decode_to_tensor} if tensors else {}
        if tensors:
            steps[0] = transforms.RandomResizedCrop(workload["size"], antialias=True)
        else:
            steps.append(transforms.PILToTensor())
        data = ImageFolder(workload["photos"], transforms.Compose(steps), **options)
        return consume(loader_of(data, workload["batch"], workers))

    return {
        f"PIL, {threads()} workers": lambda: build(threads(), False),
        f"tensors, {threads()} workers": lambda: build(threads(), True),
        "PIL, in the process": lambda: build(0, False),
    }


def records(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    raise RuntimeError("PyTorch has no TFRecord reader")


def load(workload: dict[str, Any]) -> Loaded:
    return Loaded({"memory": memory, "photos": photos, "records": records}[workload["pipeline"]](workload))


if __name__ == "__main__":
    torch.set_num_threads(threads())
    serve(load)
