"""The pipeline workloads in Grain (without JAX): threads, and worker processes where they help."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any, Callable

import grain
import numpy as np
from PIL import Image

from make_data import example_frame, read_idx
from protocol import Block, Loaded, consume, serve, threads

warnings.filterwarnings("ignore")


def as_iterator(data: grain.MapDataset, workers: int) -> grain.IterDataset:
    stream = data.to_iter_dataset(grain.ReadOptions(num_threads=threads(), prefetch_buffer_size=8))
    return stream.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers)) if workers else stream


class Digits:
    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.uint8]:
        return self.images[index], self.labels[index]


def scale(element: tuple[np.ndarray, np.uint8]) -> tuple[np.ndarray, np.uint8]:
    image, label = element
    return image.astype(np.float32) / 255.0, label


def memory(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    folder, batch = Path(workload["mnist"]), workload["batch"]
    source = Digits(read_idx(folder / "train-images.idx"), read_idx(folder / "train-labels.idx"))

    def build(workers: int, vectorised: bool) -> Block:
        data = grain.MapDataset.source(source).seed(1).shuffle().repeat()
        data = data.batch(batch, drop_remainder=True).map(scale) if vectorised else data.map(scale).batch(
            batch, drop_remainder=True)
        return consume(as_iterator(data, workers))

    return {
        "threads": lambda: build(0, False),
        "threads, batch, vectorised map": lambda: build(0, True),
        f"{threads()} processes": lambda: build(threads(), False),
    }


def random_resized_crop(image: Image.Image, size: int, random: np.random.Generator) -> np.ndarray:
    width, height = image.size
    crop_width, crop_height = width, height
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        aspect = np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
        crop_width, crop_height = round(np.sqrt(area * aspect)), round(np.sqrt(area / aspect))
        if 0 < crop_width <= width and 0 < crop_height <= height:
            break
        crop_width, crop_height = min(width, height), min(width, height)
    left, top = random.integers(0, width - crop_width + 1), random.integers(0, height - crop_height + 1)
    box = (left, top, left + crop_width, top + crop_height)
    return np.asarray(image.resize((size, size), Image.BILINEAR, box=box))


class DecodeCropFlip(grain.transforms.RandomMap):
    def __init__(self, size: int) -> None:
        self.size = size

    def random_map(self, element: tuple[str, int], rng: np.random.Generator) -> tuple[np.ndarray, int]:
        path, label = element
        with open(path, "rb") as file:
            image = Image.open(io.BytesIO(file.read())).convert("RGB")
        pixels = random_resized_crop(image, self.size, rng)
        return (pixels[:, ::-1] if rng.random() < 0.5 else pixels), label


def photos(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    folder = Path(workload["photos"])
    classes = sorted(path.name for path in folder.iterdir())
    files = [(str(path), index) for index, name in enumerate(classes) for path in sorted((folder / name).iterdir())]

    def build(workers: int) -> Block:
        data = grain.MapDataset.source(files).seed(1).shuffle().repeat().random_map(DecodeCropFlip(workload["size"]))
        return consume(as_iterator(data.batch(workload["batch"], drop_remainder=True), workers))

    return {"threads": lambda: build(0), f"{threads()} processes": lambda: build(threads())}


def records(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    """Grain reads the frames and leaves tf.Example to the user. These records all have one layout, so that a slice is the
    cheapest parser there can be."""
    begin = len(example_frame(784)[0])

    def parse(record: bytes) -> tuple[np.ndarray, int]:
        image = np.frombuffer(record, np.uint8, 784, begin).reshape(28, 28)
        return image.astype(np.float32) / 255.0, record[-1]

    def build() -> Block:
        data = grain.experimental.TFRecordIterDataset(workload["tfrecord"])
        data = grain.experimental.RepeatIterDataset(data).map(parse).batch(workload["batch"], drop_remainder=True)
        return consume(data)

    return {"TFRecordIterDataset": build}


def load(workload: dict[str, Any]) -> Loaded:
    return Loaded({"memory": memory, "photos": photos, "records": records}[workload["pipeline"]](workload))


if __name__ == "__main__":
    serve(load)
