"""A whole fit in Keras, from process start: digits from arrays, or a folder of JPEG files through tf.data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fit_report import Report, spec
from keras_models import compiled, set_threads

import keras
import numpy as np
import tensorflow as tf

from make_data import read_idx
from tfdata_pipeline import folder_list, random_resized_crop


class Epochs(keras.callbacks.Callback):
    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.report.epoch_begins()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.report.epoch_ends()


def fit_digits(job: dict[str, Any], report: Report) -> tuple[int, float]:
    def part(name: str) -> tuple[np.ndarray, np.ndarray]:
        folder = Path(job["folder"])
        images = read_idx(folder / f"{name}-images.idx")[..., None].astype(np.float32) / 255.0
        return images, read_idx(folder / f"{name}-labels.idx").astype(np.int32)

    x, y = part("train")
    x, y = x[: job["samples"]], y[: job["samples"]]
    model = compiled("cnn32", job["variant"] == "jit_compile=auto" and "auto", metrics=("accuracy",))
    model.fit(x, y, batch_size=job["batch"], epochs=job["epochs"], verbose=0, callbacks=[Epochs(report)])
    return len(x), model.evaluate(*part("t10k"), batch_size=256, verbose=0)[1]


def scenes(folder: Path, batch: int, size: int, training: bool) -> tf.data.Dataset:
    paths, labels = folder_list(folder)
    data = tf.data.Dataset.from_tensor_slices((paths, labels))
    if training:
        data = data.shuffle(len(paths)).map(lambda path, label: random_resized_crop(path, label, size), tf.data.AUTOTUNE)
    else:
        def whole(path: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            image = tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (size, size))
            return tf.cast(tf.round(image), tf.uint8), label

        data = data.map(whole, tf.data.AUTOTUNE)
    return data.batch(batch).prefetch(tf.data.AUTOTUNE)


def fit_scenes(job: dict[str, Any], report: Report) -> tuple[int, float]:
    folder = Path(job["folder"])
    train = scenes(folder / "train", job["batch"], 96, training=True)
    model = compiled("photos", job["variant"] == "jit_compile=auto" and "auto", metrics=("accuracy",))
    model.fit(train, epochs=job["epochs"], verbose=0, callbacks=[Epochs(report)])
    accuracy = model.evaluate(scenes(folder / "test", job["batch"], 96, training=False), verbose=0)[1]
    return len(folder_list(folder / "train")[0]), accuracy


if __name__ == "__main__":
    set_threads()
    JOB, REPORT = spec(), Report()
    REPORT.print(*{"digits": fit_digits, "scenes": fit_scenes}[JOB["data"]](JOB, REPORT))
