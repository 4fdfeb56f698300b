#!/usr/bin/env python3
"""Records the learning rates of Keras's schedules, and of PyTorch's CyclicLR and OneCycleLR.

    python3 tests/parity/record_schedules.py

Needs keras 3, tensorflow, torch and numpy. Writes schedules.safetensors beside itself: for every case the rates of
steps 0 to 69, which lie before, in and after what a case decays over, and the momentum where it is cycled. test_schedules.cpp has the same cases.
"""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import torch

from common import Recording
from keras_support import in_both

STEPS = 70
s = keras.optimizers.schedules
KERAS = {
    "exponential": lambda: s.ExponentialDecay(0.5, 20, 0.9),
    "exponential_staircase": lambda: s.ExponentialDecay(0.5, 20, 0.9, staircase=True),
    "polynomial": lambda: s.PolynomialDecay(0.5, 40),
    "polynomial_square": lambda: s.PolynomialDecay(0.5, 40, end_learning_rate=0.0625, power=2.0),
    "polynomial_cycle": lambda: s.PolynomialDecay(0.5, 20, end_learning_rate=0.0625, cycle=True),
    "piecewise": lambda: s.PiecewiseConstantDecay([10, 30], [0.5, 0.25, 0.03125]),
    "inverse_time": lambda: s.InverseTimeDecay(0.5, 20, 0.75),
    "inverse_time_staircase": lambda: s.InverseTimeDecay(0.5, 20, 0.75, staircase=True),
    "cosine": lambda: s.CosineDecay(0.5, 50),
    "cosine_alpha": lambda: s.CosineDecay(0.5, 50, alpha=0.125),
    "cosine_warmup": lambda: s.CosineDecay(0.0, 50, alpha=0.125, warmup_target=0.5, warmup_steps=10),
    "restarts": lambda: s.CosineDecayRestarts(0.5, 10),
    "restarts_even": lambda: s.CosineDecayRestarts(0.5, 16, t_mul=1.0, m_mul=0.5, alpha=0.0625),
    "restarts_smaller": lambda: s.CosineDecayRestarts(0.5, 10, t_mul=1.5, m_mul=0.75, alpha=0.0625),
}


def torch_case(kind, **options):
    def values(what):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.5)
        schedule = kind(optimizer, **options)
        seen = []
        for _ in range(options.get("total_steps", STEPS)):
            seen.append(optimizer.param_groups[0][what])
            optimizer.step()
            schedule.step() if len(seen) < options.get("total_steps", STEPS) else None
        return np.array(seen + [seen[-1]] * (STEPS - len(seen)))  # PyTorch refuses to go on: Stoker stays there

    return values


cyclic, one_cycle = torch.optim.lr_scheduler.CyclicLR, torch.optim.lr_scheduler.OneCycleLR
TORCH = {
    f"cyclical_{mode}": torch_case(cyclic, base_lr=0.125, max_lr=0.5, step_size_up=9, mode=mode, gamma=gamma,
                                   cycle_momentum=False)
    for mode, gamma in (("triangular", 1.0), ("triangular2", 1.0), ("exp_range", 0.96875))
} | {
    "one_cycle": torch_case(one_cycle, max_lr=0.5, total_steps=60),
    "one_cycle_linear": torch_case(one_cycle, max_lr=0.5, total_steps=60, pct_start=0.25, anneal_strategy="linear",
                                   div_factor=8.0, final_div_factor=16.0, base_momentum=0.75, max_momentum=0.9375),
    "one_cycle_three_phase": torch_case(one_cycle, max_lr=0.5, total_steps=60, three_phase=True),
}


def main() -> None:
    recording = Recording()
    for name, make in KERAS.items():
        exact, draw = in_both(lambda dtype: np.array([float(make()(step)) for step in range(STEPS)]))
        if np.max(np.abs(exact - draw)) > 1e-6 * np.max(exact):
            raise SystemExit(f"{name}: Keras's float32 is on the other side of a jump; choose other numbers")
        recording.add(f"rate/{name}", exact, [draw])
    for name, values in TORCH.items():
        for kind, what in (("rate", "lr"), ("momentum", "momentum")):
            exact = values(what)
            if kind == "rate" or name.startswith("one_cycle"):
                recording.add(f"{kind}/{name}", exact, [exact.astype(np.float32)])
    recording.save("schedules", {"made_by": "tests/parity/record_schedules.py", "keras": keras.__version__,
                                 "torch": torch.__version__})


if __name__ == "__main__":
    main()
