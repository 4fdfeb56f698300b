#!/usr/bin/env python3
"""The networks of bench_zoo in PyTorch: prints one JSON object a line, {"row", "peer", "value", "unit"}.

    bench/zoo/peer.py [--device cuda|cpu] [--all-modes] NAME:BATCH ...
    bench/zoo/peer.py [--device cuda|cpu] --serve NAME:BATCH      steps on request, for turns.py

Batches lie on the device, channels last, in bfloat16 by autocast (float32 on a CPU), with fused Adam. Each network runs in
the mode that was its fastest when all were measured; --all-modes measures eager, captured and compiled steps.
"""
import json
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "common"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from serving import serve  # noqa: E402
from torch_graph import captured  # noqa: E402

FASTEST = {"mobilenet_v1": "compile", "unet": "compile", "vit_s16": "compile", "convnext_tiny": "compile"}  # others: graph


def conv_bn(inside, out, kernel, stride=1, act=nn.ReLU, groups=1, dilation=1):
    pad = dilation * (kernel // 2)
    layers = [nn.Conv2d(inside, out, kernel, stride, pad, dilation, groups, bias=False), nn.BatchNorm2d(out, eps=1e-3)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Pooled(nn.Module):
    """Features, their mean over the picture, a dense layer."""

    def __init__(self, features, width, classes):
        super().__init__()
        self.features, self.dense = features, nn.Linear(width, classes)

    def forward(self, x):
        return self.dense(self.features(x).mean((2, 3)))


class Residual(nn.Module):
    def __init__(self, body, shortcut=None):
        super().__init__()
        self.body, self.shortcut = body, shortcut or nn.Identity()

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


def vgg_cifar():
    layers, width = [], 3
    for filters in (64, 128, 256, 512):
        layers += [conv_bn(width, filters, 3), conv_bn(filters, filters, 3), nn.MaxPool2d(2)]
        width = filters
    return Pooled(nn.Sequential(*layers), width, 10)


def separable(inside, out):
    return nn.Sequential(
        nn.Conv2d(inside, inside, 3, 1, 1, groups=inside, bias=False), nn.Conv2d(inside, out, 1, bias=False),
        nn.BatchNorm2d(out, eps=1e-3))


def xception_mini():
    layers, width = [conv_bn(3, 128, 3, 2)], 128
    for filters in (256, 512, 728):
        body = nn.Sequential(nn.ReLU(), separable(width, filters), nn.ReLU(), separable(filters, filters),
                             nn.MaxPool2d(3, 2, 1))
        layers.append(Residual(body, nn.Conv2d(width, filters, 1, 2)))
        width = filters
    return Pooled(nn.Sequential(*layers, separable(width, 1024), nn.ReLU()), 1024, 2)


def mobilenet_v1():
    layers, width = [conv_bn(3, 32, 3, 2)], 32
    for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1),
                            (512, 1), (512, 1), (1024, 2), (1024, 1)):
        layers += [conv_bn(width, width, 3, stride, groups=width), conv_bn(width, filters, 1)]
        width = filters
    return Pooled(nn.Sequential(*layers), width, 1000)


class Excited(nn.Module):
    def __init__(self, width, narrow):
        super().__init__()
        self.down, self.up = nn.Conv2d(width, narrow, 1), nn.Conv2d(narrow, width, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3), keepdim=True)))))


def mbconv(inside, expansion, out, kernel, stride):
    wide = inside * expansion
    body = [conv_bn(inside, wide, 1, act=nn.SiLU)] if expansion > 1 else []
    body += [conv_bn(wide, wide, kernel, stride, nn.SiLU, wide), Excited(wide, max(1, inside // 4)),
             conv_bn(wide, out, 1, act=None)]
    body = nn.Sequential(*body)
    return Residual(body) if stride == 1 and inside == out else body


def efficientnet_b0():
    layers, width = [conv_bn(3, 32, 3, 2, nn.SiLU)], 32
    for expansion, out, count, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                                  (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for block in range(count):
            layers.append(mbconv(width, expansion, out, kernel, stride if block == 0 else 1))
            width = out
    return Pooled(nn.Sequential(*layers, conv_bn(width, 1280, 1, act=nn.SiLU)), 1280, 1000)


def mlp_big():
    layers, width = [], 1024
    for _ in range(4):
        layers += [nn.Linear(width, 4096), nn.ReLU()]
        width = 4096
    return nn.Sequential(*layers, nn.Linear(width, 1000))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        twice = lambda inside, out: nn.Sequential(conv_bn(inside, out, 3), conv_bn(out, out, 3))
        self.down = nn.ModuleList([twice(3, 64), twice(64, 128), twice(128, 256)])
        self.middle = twice(256, 512)
        self.up = nn.ModuleList([twice(512 + 256, 256), twice(256 + 128, 128), twice(128 + 64, 64)])
        self.last = nn.Conv2d(64, 3, 1)

    def forward(self, x):
        skipped = []
        for block in self.down:
            skipped.append(block(x))
            x = F.max_pool2d(skipped[-1], 2)
        x = self.middle(x)
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), skipped.pop()], 1))
        return self.last(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.inward, self.outward = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.inward(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.outward(y.transpose(1, 2).reshape(batch, tokens, width))


def feed_forward(width, wide):
    return nn.Sequential(nn.Linear(width, wide), nn.GELU(), nn.Linear(wide, width))


class Patches(nn.Module):
    """A picture as tokens, blocks over them, their mean, a dense layer."""

    def __init__(self, width, blocks):
        super().__init__()
        self.patches, self.blocks = nn.Conv2d(3, width, 16, 16), nn.Sequential(*blocks)
        self.norm, self.dense = nn.LayerNorm(width, 1e-6), nn.Linear(width, 1000)

    def forward(self, x):
        tokens = self.patches(x).flatten(2).transpose(1, 2)
        return self.dense(self.norm(self.blocks(tokens)).mean(1))


def vit_s16():
    width, blocks = 384, []
    for _ in range(12):
        blocks.append(Residual(nn.Sequential(nn.LayerNorm(width, 1e-6), Attention(width, 6))))
        blocks.append(Residual(nn.Sequential(nn.LayerNorm(width, 1e-6), feed_forward(width, 4 * width))))
    return Patches(width, blocks)


class Transposed(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x.transpose(1, 2)).transpose(1, 2)


def mlp_mixer():
    width, blocks = 512, []
    for _ in range(8):
        blocks.append(Residual(nn.Sequential(nn.LayerNorm(width, 1e-6), Transposed(feed_forward(196, 256)))))
        blocks.append(Residual(nn.Sequential(nn.LayerNorm(width, 1e-6), feed_forward(width, 4 * width))))
    return Patches(width, blocks)


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, 1, 3, groups=width)
        self.norm, self.dense = nn.LayerNorm(width, 1e-6), feed_forward(width, 4 * width)

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + self.dense(y).permute(0, 3, 1, 2)


class NormedMean(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.dense = nn.LayerNorm(width, 1e-6), nn.Linear(width, 1000)

    def forward(self, x):
        return self.dense(self.norm(x.mean((2, 3))))


def convnext_tiny():
    layers, width = [nn.Conv2d(3, 96, 4, 4), ChannelNorm(96, 1e-6)], 96
    for filters, blocks in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if filters != width:
            layers += [ChannelNorm(width, 1e-6), nn.Conv2d(width, filters, 2, 2)]
        layers += [ConvNextBlock(filters) for _ in range(blocks)]
        width = filters
    return nn.Sequential(*layers, NormedMean(width))


class DenseLayer(nn.Module):
    def __init__(self, width, growth=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(width, eps=1e-3), nn.ReLU(), nn.Conv2d(width, 4 * growth, 1, bias=False),
            nn.BatchNorm2d(4 * growth, eps=1e-3), nn.ReLU(), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet121():
    layers, width = [conv_bn(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for block, count in enumerate((6, 12, 24, 16)):
        if block:
            layers += [nn.BatchNorm2d(width, eps=1e-3), nn.ReLU(), nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2)]
            width //= 2
        for _ in range(count):
            layers.append(DenseLayer(width))
            width += 32
    return Pooled(nn.Sequential(*layers, nn.BatchNorm2d(width, eps=1e-3), nn.ReLU()), width, 1000)


class ShuffleUnit(nn.Module):
    def __init__(self, inside, out, stride):
        super().__init__()
        half, self.stride = out // 2, stride
        self.branch = nn.Sequential(conv_bn(half if stride == 1 else inside, half, 1),
                                    conv_bn(half, half, 3, stride, None, half), conv_bn(half, half, 1))
        self.left = nn.Sequential(conv_bn(inside, inside, 3, 2, None, inside), conv_bn(inside, half, 1)) if stride == 2 else None

    def forward(self, x):
        left, right = x.chunk(2, 1) if self.stride == 1 else (self.left(x), x)
        y = torch.cat([left, self.branch(right)], 1)
        batch, channels, high, wide = y.shape
        return y.view(batch, 2, channels // 2, high, wide).transpose(1, 2).reshape(batch, channels, high, wide)


def shufflenet():
    layers, width = [conv_bn(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1)], 24
    for filters, units in ((116, 4), (232, 8), (464, 4)):
        for unit in range(units):
            layers.append(ShuffleUnit(width, filters, 2 if unit == 0 else 1))
            width = filters
    return Pooled(nn.Sequential(*layers, conv_bn(width, 1024, 1)), 1024, 1000)


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, widths = conv_bn(3, 32, 3, 2), (32, 64, 128, 256)
        self.stages = nn.ModuleList(
            [nn.Sequential(conv_bn(a, b, 3, 2), conv_bn(b, b, 3)) for a, b in zip(widths, widths[1:])])
        self.context = nn.ModuleList([conv_bn(256, 128, 3, dilation=d) for d in (1, 2, 4)])
        self.joined = conv_bn(384, 128, 1)
        self.sides = nn.ModuleList([nn.Conv2d(64, 128, 1), nn.Conv2d(128, 128, 1)])
        self.smooth = nn.ModuleList([conv_bn(128, 128, 3), conv_bn(128, 128, 3)])
        self.last = nn.Conv2d(128, 8, 1)

    def forward(self, x):
        levels, x = [], self.stem(x)
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        x = self.joined(torch.cat([block(x) for block in self.context], 1))
        for level in (1, 0):
            x = self.smooth[level](F.interpolate(x, scale_factor=2) + self.sides[level](levels[level]))
        return F.interpolate(self.last(x), scale_factor=4)


def make(name):
    if name.startswith("resnet"):
        import torchvision

        return getattr(torchvision.models, name)()
    return {"unet": UNet, "fpn_dilated": Pyramid}.get(name, globals().get(name))()


SIDES = {"vgg_cifar": 32, "xception_mini": 180, "unet": 160, "fpn_dilated": 192}
CLASSES = {"vgg_cifar": 10, "xception_mini": 2, "unet": 3, "fpn_dilated": 8}


def make_step(name, batch, mode, device):
    torch.manual_seed(0)
    model, classes, side = make(name).to(device), CLASSES.get(name, 1000), SIDES.get(name, 224)
    if name == "mlp_big":
        x = torch.randn(batch, 1024, device=device)
    else:
        model = model.to(memory_format=torch.channels_last)
        x = torch.rand(batch, 3, side, side, device=device).contiguous(memory_format=torch.channels_last)
    pixels = (side, side) if name in ("unet", "fpn_dilated") else ()
    y = torch.randint(classes, (batch, *pixels), device=device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True, capturable=device == "cuda")

    def loss_of(images, labels):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            logits = model(images)
        return F.cross_entropy(logits.float(), labels)

    function = torch.compile(loss_of) if mode == "compile" else loss_of

    def step():
        optimizer.zero_grad(set_to_none=True)
        function(x, y).backward()
        optimizer.step()

    if mode != "graph":
        return step
    return captured(torch, step, optimizer)


def seconds_per_step(step, device):
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def block(count):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        wait()
        return (time.perf_counter() - begin) / count

    block(2)
    steps = max(2, min(200, int(0.2 / block(2))))
    return statistics.median(block(steps) for _ in range(5 if device == "cuda" else 3))


def main():
    words = sys.argv[1:]
    device = words[words.index("--device") + 1] if "--device" in words else "cuda"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    if "--serve" in words:
        name, batch = words[words.index("--serve") + 1].split(":")
        serve(make_step(name, int(batch), "eager", device))
        return 0
    for word in words:
        if ":" not in word:
            continue
        name, batch = word.split(":")
        modes = [FASTEST.get(name, "graph")] if device == "cuda" else ["eager"]
        if "--all-modes" in words:
            modes = ["eager", "graph", "compile"] if device == "cuda" else ["eager", "compile"]
        for mode in modes:
            try:
                rate = int(batch) / seconds_per_step(make_step(name, int(batch), mode, device), device)
            except Exception as error:  # one network or mode that fails leaves the others
                print(f"{word} {mode}: {error!r}"[:300], file=sys.stderr)
                continue
            print(json.dumps({"row": f"{name} b{batch}", "peer": f"PyTorch {mode}", "value": rate, "unit": "samples/s"}),
                  flush=True)
            if device == "cuda":
                torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
