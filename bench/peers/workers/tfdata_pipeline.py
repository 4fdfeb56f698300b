"""The pipeline workloads in tf.data, with AUTOTUNE where its performance guide puts it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402

from make_data import read_idx  # noqa: E402
from protocol import Block, Loaded, consume, serve, threads  # noqa: E402

AUTOTUNE = tf.data.AUTOTUNE


def memory(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    folder, batch = Path(workload["mnist"]), workload["batch"]
    images, labels = read_idx(folder / "train-images.idx"), read_idx(folder / "train-labels.idx")

    def scale(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.cast(image, tf.float32) / 255.0, label

    def shuffled() -> tf.data.Dataset:
        return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(workload["shuffle"]).repeat()

    return {
        "map, batch": lambda: consume(shuffled().map(scale, AUTOTUNE).batch(batch, drop_remainder=True).prefetch(AUTOTUNE)),
        "batch, vectorised map": lambda: consume(
            shuffled().batch(batch, drop_remainder=True).map(scale, AUTOTUNE).prefetch(AUTOTUNE)),
    }


def random_resized_crop(path: tf.Tensor, label: tf.Tensor, size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Decodes only the region of the crop, as TensorFlow's own ImageNet programs do."""
    data = tf.io.read_file(path)
    shape = tf.image.extract_jpeg_shape(data)
    begin, extent, _ = tf.image.sample_distorted_bounding_box(
        shape, bounding_boxes=tf.constant([[[0.0, 0.0, 1.0, 1.0]]]), min_object_covered=0.0,
        aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1.0), max_attempts=10, use_image_if_no_bounding_boxes=True)
    window = tf.stack([begin[0], begin[1], extent[0], extent[1]])
    image = tf.image.decode_and_crop_jpeg(data, window, channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.image.random_flip_left_right(tf.image.resize(image, (size, size)))
    return tf.cast(tf.round(image), tf.uint8), label


def folder_list(folder: Path) -> tuple[list[str], list[int]]:
    classes = sorted(path.name for path in folder.iterdir())
    pairs = [(str(path), index) for index, name in enumerate(classes) for path in sorted((folder / name).iterdir())]
    return [path for path, _ in pairs], [label for _, label in pairs]


def photos(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    paths, labels = folder_list(Path(workload["photos"]))

    def build(deterministic: bool) -> Block:
        data = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths)).repeat()
        data = data.map(lambda path, label: random_resized_crop(path, label, workload["size"]), AUTOTUNE,
                        deterministic=deterministic)
        return consume(data.batch(workload["batch"], drop_remainder=True).prefetch(AUTOTUNE))

    return {"AUTOTUNE": lambda: build(True), "AUTOTUNE, deterministic=False": lambda: build(False)}


def records(workload: dict[str, Any]) -> dict[str, Callable[[], Block]]:
    batch = workload["batch"]
    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(serialised: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        parsed = tf.io.parse_example(serialised, features)
        images = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8, fixed_length=784), (-1, 28, 28))
        return tf.cast(images, tf.float32) / 255.0, parsed["label"]

    def build(buffer: int | None) -> Block:
        data = tf.data.TFRecordDataset(workload["tfrecord"], buffer_size=buffer).repeat()
        return consume(data.batch(batch, drop_remainder=True).map(parse, AUTOTUNE).prefetch(AUTOTUNE))

    return {"batch, parse_example": lambda: build(None), "batch, parse_example, 8 MiB buffer": lambda: build(8 << 20)}


def load(workload: dict[str, Any]) -> Loaded:
    return Loaded({"memory": memory, "photos": photos, "records": records}[workload["pipeline"]](workload))


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(threads())
    tf.config.threading.set_inter_op_parallelism_threads(threads())
    serve(load)
