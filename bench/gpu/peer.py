#!/usr/bin/env python3
"""The steps of bench_gpu in PyTorch: prints one JSON object a line, {"row", "peer", "value", "unit"}.

    bench/gpu/peer.py [--quick]          the bars (--quick: captured graphs only)
    bench/gpu/peer.py --losses FOLDER    trains on the weights and batch that `bench_gpu --losses` wrote there and compares
"""
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
from torch_graph import captured, median_seconds  # noqa: E402


def say(row, peer, value, unit):
    print(json.dumps({"row": row, "peer": peer, "value": value, "unit": unit}), flush=True)


def timed(torch, step, steps, warm):
    return median_seconds(step, warm, 5, steps, torch.cuda.synchronize)


def make_step(torch, model, x, y, half, mode):
    """A training step: eager, captured, or compiled and captured."""
    import torch.nn as nn

    model = model.to("cuda").to(memory_format=torch.channels_last)
    x = x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True, capturable=True)
    loss_function = nn.CrossEntropyLoss()

    def forward(images, labels):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=half):
            return loss_function(model(images), labels)

    function = torch.compile(forward) if mode.startswith("compile") else forward

    def step():
        optimizer.zero_grad(set_to_none=True)
        function(x, y).backward()
        optimizer.step()

    if mode == "eager":
        return step
    return captured(torch, step, optimizer)


def cnn(torch):
    import torch.nn as nn

    return nn.Sequential(
        nn.Conv2d(1, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(64, 128, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(128 * 25, 10))


def bars(torch, quick):
    import torchvision

    small_modes = ["graph"] if quick else ["eager", "graph", "compile+graph"]
    large_modes = ["graph"] if quick else ["eager", "graph"]
    for batch, half in ((32, True), (128, True), (1024, True), (32, False)):
        x = torch.rand(batch, 1, 28, 28, device="cuda")
        y = torch.randint(10, (batch,), device="cuda")
        for mode in small_modes:
            step = make_step(torch, cnn(torch), x, y, half, mode)
            say(f"CNN 64/128 batch {batch} {'bf16' if half else 'tf32'}", f"PyTorch {mode}",
                timed(torch, step, 100, 20) * 1e3, "ms/step")
    for batch in (64, 256):
        x = torch.rand(batch, 3, 224, 224, device="cuda")
        y = torch.randint(1000, (batch,), device="cuda")
        for mode in large_modes:
            step = make_step(torch, torchvision.models.resnet50(), x, y, True, mode)
            say(f"ResNet-50 batch {batch} bf16", f"PyTorch {mode}", batch / timed(torch, step, 10, 5), "img/s")


def load_resnet(torch, folder):
    """torchvision's ResNet-50 with the weights of bench_gpu: kernels [h, w, in, out], dense [in, out]."""
    import numpy
    import torchvision

    model = torchvision.models.resnet50()
    data = numpy.fromfile(os.path.join(folder, "weights.bin"), dtype=numpy.float32)
    at = 0

    def take(shape):
        nonlocal at
        count = int(numpy.prod(shape))
        part = data[at:at + count].reshape(shape)
        at += count
        return torch.from_numpy(part.copy())

    def conv(layer):
        out, inside, high, wide = layer.weight.shape
        layer.weight.data.copy_(take((high, wide, inside, out)).permute(3, 2, 0, 1))

    def norm(layer):
        layer.weight.data.copy_(take(tuple(layer.weight.shape)))
        layer.bias.data.copy_(take(tuple(layer.bias.shape)))

    conv(model.conv1)
    norm(model.bn1)
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        for block in stage:
            for which in (1, 2, 3):
                conv(getattr(block, f"conv{which}"))
                norm(getattr(block, f"bn{which}"))
            if block.downsample is not None:
                conv(block.downsample[0])
                norm(block.downsample[1])
    model.fc.weight.data.copy_(take((2048, 1000)).T)
    model.fc.bias.data.copy_(take((1000,)))
    assert at == len(data)
    return model


def compare_losses(torch, folder):
    import numpy
    import torch.nn as nn

    with open(os.path.join(folder, "losses.json")) as file:
        ours = json.load(file)["losses"]
    labels = torch.from_numpy(numpy.fromfile(os.path.join(folder, "y.bin"), dtype=numpy.int64)).cuda()
    images = numpy.fromfile(os.path.join(folder, "x.bin"), dtype=numpy.float32).reshape(len(labels), 224, 224, 3)
    images = torch.from_numpy(images).permute(0, 3, 1, 2).cuda().contiguous(memory_format=torch.channels_last)
    results = {}
    for name, half in (("bf16", True), ("float32", False)):
        torch.manual_seed(0)
        model = load_resnet(torch, folder).cuda().to(memory_format=torch.channels_last)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        losses = []
        for _ in range(len(ours)):
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=half):
                loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
        results[name] = losses
    for step in (0, 1, 2, 5, 10, 20, 50, 99):
        print(f"step {step:3d}  Stoker bf16 {ours[step]:.5f}  PyTorch bf16 {results['bf16'][step]:.5f}  "
              f"PyTorch float32 {results['float32'][step]:.5f}")
    with open(os.path.join(folder, "losses_torch.json"), "w") as file:
        json.dump({"torch": torch.__version__, **results}, file)


def main():
    try:
        import torch
    except ImportError as error:
        print(f"no PyTorch: {error}", file=sys.stderr)
        return 1
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    if "--losses" in sys.argv:
        compare_losses(torch, sys.argv[sys.argv.index("--losses") + 1])
    else:
        bars(torch, "--quick" in sys.argv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
