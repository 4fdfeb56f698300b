"""The shortest Keras program that finishes a training step: the CNN 32/64, 32 samples. The driver's clock runs from
before the process exists until this line arrives."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import numpy as np

from keras_models import compiled, set_threads

set_threads()
model = compiled("cnn32", "auto" if sys.argv[1] == "jit_compile=auto" else False)
loss = model.train_on_batch(np.zeros((32, 28, 28, 1), np.float32), np.zeros(32, np.int32))
print('{"loss": %f}' % float(loss), flush=True)
