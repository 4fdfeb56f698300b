"""One training step in PyTorch: eager and torch.compile, contiguous and channels_last; the driver keeps the fastest."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping

import torch
from torch import nn

from protocol import Block, Loaded, serve
from samples import batches
from torch_models import LEARNING_RATE, SHAPES, adam, build, set_threads


def _training(name: str, pairs: list[tuple[torch.Tensor, torch.Tensor]], device: torch.device, channels_last: bool,
              compile_mode: str | None) -> Block:
    model = build(name).to(device)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        pairs = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in pairs]
    model.train()
    optimizer = adam(model, LEARNING_RATE)
    forward: nn.Module = model
    if compile_mode is not None:
        forward = torch.compile(model, mode=compile_mode or None)
    criterion = nn.CrossEntropyLoss()
    stream = itertools.cycle(pairs)

    def run(n: int) -> Mapping[str, Any]:
        loss = torch.zeros(())
        for x, y in itertools.islice(stream, n):
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(forward(x), y)
            loss.backward()
            optimizer.step()
        return {"loss": loss.item()}

    return run


def load(workload: dict[str, Any]) -> Loaded:
    name, device = workload["model"], DEVICE
    features, labels = batches(SHAPES[name], workload["batch"])
    x, y = torch.from_numpy(features).to(device), torch.from_numpy(labels).long().to(device)
    pairs = [(x[index].clone(), y[index].clone()) for index in range(x.shape[0])]
    image = len(SHAPES[name]) == 3
    variants: dict[str, Callable[[], Block]] = {"eager": lambda: _training(name, pairs, device, False, None)}
    if image:
        variants["eager, channels_last"] = lambda: _training(name, pairs, device, True, None)
    if hasattr(torch, "compile") and not workload.get("quick"):
        layout = ", channels_last" if image else ""
        variants["compile" + layout] = lambda: _training(name, pairs, device, image, "")
        if device.type == "cuda":
            variants["compile, CUDA graph"] = lambda: _training(name, pairs, device, image, "reduce-overhead")
    parameters = sum(parameter.numel() for parameter in build(name).parameters())
    return Loaded(variants, {"parameters": parameters})


if __name__ == "__main__":
    DEVICE = set_threads()
    serve(load)
