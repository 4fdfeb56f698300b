"""The shortest PyTorch program that finishes a training step: the CNN 32/64, 32 samples."""

from __future__ import annotations

import torch

from torch_models import build, set_threads

device = set_threads()
model = build("cnn32").to(device)
optimizer = torch.optim.Adam(model.parameters())
loss = torch.nn.functional.cross_entropy(model(torch.zeros(32, 1, 28, 28, device=device)),
                                         torch.zeros(32, dtype=torch.long, device=device))
loss.backward()
optimizer.step()
print('{"loss": %f}' % loss.item(), flush=True)
