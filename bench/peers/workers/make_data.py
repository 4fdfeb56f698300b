"""Makes the files that every system reads, from nothing but numpy and Pillow. Each is made once and kept.

    make_data.py OUT [--mnist DIR] [--photos DIR] [--digits N]

    OUT/mnist/*.idx       digits: from --mnist (IDX files, gzip or plain), otherwise drawn here
    OUT/mnist.tfrecord    the training digits as tf.Example
    OUT/photos/CLASS/     1,000 names of 100 photographs: from --photos, otherwise painted here
    OUT/scenes/{train,test}/CLASS/   ten classes that a small CNN can tell apart
"""

from __future__ import annotations

import argparse
import gzip
import os
import struct
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

CLASSES = 10
NAMES = ("train-images", "train-labels", "t10k-images", "t10k-labels")


# --- digits -------------------------------------------------------------------------------------

def read_idx(path: Path) -> np.ndarray:
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    rank = raw[3]
    extents = struct.unpack(f">{rank}I", raw[4:4 + 4 * rank])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(extents)


def write_idx(path: Path, values: np.ndarray) -> None:
    header = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(header + np.ascontiguousarray(values, np.uint8).tobytes())


def find_idx(folder: Path, name: str) -> Path:
    kind = "idx3-ubyte" if name.endswith("images") else "idx1-ubyte"
    for candidate in (f"{name}-{kind}", f"{name}-{kind}.gz", f"{name}.idx", f"{name}.{kind}"):
        if (folder / candidate).exists():
            return folder / candidate
    raise SystemExit(f"{folder}: no {name} in IDX format, expected {name}-{kind} or {name}-{kind}.gz")


def glyph(digit: int, random: np.random.Generator) -> np.ndarray:
    """One digit, 28x28, slanted, turned and scaled at random."""
    canvas = Image.new("L", (12, 14), 0)
    ImageDraw.Draw(canvas).text((3, 1), str(digit), fill=255, font=ImageFont.load_default())
    big = canvas.resize((84, 98), Image.BICUBIC)
    angle, scale, shear = random.normal(0, 8), random.uniform(0.8, 1.2), random.normal(0, 0.15)
    big = big.rotate(angle, Image.BICUBIC)
    matrix = (1 / scale, shear, 42 * (1 - 1 / scale) - 49 * shear, 0, 1 / scale, 49 * (1 - 1 / scale))
    return np.asarray(big.transform(big.size, Image.AFFINE, matrix, Image.BICUBIC).resize((28, 28), Image.BILINEAR))


def draw_digits(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    prototypes = np.stack([[glyph(digit, random) for _ in range(60)] for digit in range(CLASSES)]).astype(np.float32)
    labels = random.integers(0, CLASSES, count).astype(np.uint8)
    images = prototypes[labels, random.integers(0, 60, count)]
    shifts = random.integers(-2, 3, (count, 2))
    for index, (down, right) in enumerate(shifts):
        images[index] = np.roll(images[index], (down, right), (0, 1))
    images = images * random.uniform(0.7, 1.0, (count, 1, 1)) + random.normal(0, 12, images.shape)
    return np.clip(images, 0, 255).astype(np.uint8), labels


def make_mnist(out: Path, source: Path | None, digits: int) -> None:
    if (out / "t10k-labels.idx").exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    if source is not None:
        for name in NAMES:
            write_idx(out / f"{name}.idx", read_idx(find_idx(source, name)))
        return
    for part, count, seed in (("train", digits, 1), ("t10k", max(1000, digits // 6), 2)):
        images, labels = draw_digits(count, seed)
        write_idx(out / f"{part}-images.idx", images)
        write_idx(out / f"{part}-labels.idx", labels)


# --- TFRecord -----------------------------------------------------------------------------------

def crc32c_rows(rows: np.ndarray) -> np.ndarray:
    """CRC-32C of every row of a uint8 matrix, all rows at once."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1)
    crc = np.full(rows.shape[0], 0xFFFFFFFF, np.uint32)
    for column in range(rows.shape[1]):
        crc = table[(crc ^ rows[:, column]) & 0xFF] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def masked(crc: np.ndarray) -> np.ndarray:
    rotated = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    return rotated + np.uint32(0xA282EAD8)


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def example_frame(image_bytes: int) -> tuple[bytes, bytes]:
    """tf.Example{image: bytes, label: int64} around an image of this size: what stands before the image, and after it up
    to the label's byte, which ends the record."""
    marker = b"\xff\x00\xff\x00" * (image_bytes // 4)
    image = field(1, b"image") + field(2, field(1, field(1, marker)))
    label = field(1, b"label") + field(2, field(3, b"\x0a\x01\x00"))
    example = field(1, field(1, image) + field(1, label))
    before, after = example.split(marker)
    return before, after[:-1]


def make_tfrecord(path: Path, images: np.ndarray, labels: np.ndarray) -> None:
    if path.exists():
        return
    flat = images.reshape(len(images), -1)
    before, after = (np.frombuffer(part, np.uint8) for part in example_frame(flat.shape[1]))
    rows = np.concatenate([np.broadcast_to(before, (len(flat), len(before))), flat,
                           np.broadcast_to(after, (len(flat), len(after))), labels[:, None]], axis=1)
    length = np.frombuffer(struct.pack("<Q", rows.shape[1]), np.uint8)[None]
    head = np.concatenate([length[0], masked(crc32c_rows(length)).astype("<u4").view(np.uint8)])
    tail = masked(crc32c_rows(rows)).astype("<u4").view(np.uint8).reshape(-1, 4)
    whole = np.concatenate([np.broadcast_to(head, (len(rows), len(head))), rows, tail], axis=1)
    path.write_bytes(np.ascontiguousarray(whole).tobytes())


# --- photographs --------------------------------------------------------------------------------

def clouds(height: int, width: int, random: np.random.Generator) -> np.ndarray:
    """[height, width] in 0..1: noise of several sizes on top of each other, as skies, walls and leaves have it."""
    total = np.zeros((height, width), np.float32)
    for octave in range(2, 8):
        small = Image.fromarray(random.random((2**octave, 2**octave), dtype=np.float32))
        total += np.asarray(small.resize((width, height), Image.BICUBIC)) * 0.6**octave
    return (total - total.min()) / (np.ptp(total) + 1e-6)


def background(height: int, width: int, random: np.random.Generator) -> np.ndarray:
    """[height, width, 3] uint8: two colours mixed by clouds, light from one side."""
    dark, bright = random.uniform(0, 140, 3), random.uniform(100, 255, 3)
    mix = clouds(height, width, random)[..., None]
    light = np.linspace(random.uniform(0.6, 1), random.uniform(0.8, 1.2), width)[None, :, None]
    return np.clip((dark * (1 - mix) + bright * mix) * light, 0, 255).astype(np.uint8)


def paint_object(picture: Image.Image, kind: int, random: np.random.Generator) -> None:
    """One of ten things: five outlines, each in a warm and a cold colour."""
    draw = ImageDraw.Draw(picture)
    width, height = picture.size
    size = random.uniform(0.45, 0.7) * min(width, height)
    x, y = random.uniform(0, width - size), random.uniform(0, height - size)
    warm = kind >= 5
    low, high = random.integers(0, 60, 2), random.integers(190, 255)
    colour = (int(high), int(low[0]), int(low[1])) if warm else (int(low[0]), int(low[1]), int(high))
    box = (x, y, x + size, y + size)
    outline = kind % 5
    if outline == 0:
        draw.ellipse(box, fill=colour)
    elif outline == 1:
        draw.rectangle(box, fill=colour)
    elif outline == 2:
        draw.polygon([(x, y + size), (x + size / 2, y), (x + size, y + size)], fill=colour)
    elif outline == 3:
        draw.ellipse(box, outline=colour, width=int(size / 5))
    else:
        for stripe in range(0, int(size), max(2, int(size / 4))):
            draw.rectangle((x, y + stripe, x + size, y + stripe + size / 9), fill=colour)


def paint(kind: int, random: np.random.Generator, width: int = 500, height: int = 375) -> Image.Image:
    picture = Image.fromarray(background(height, width, random))
    paint_object(picture, kind, random)
    blurred = np.asarray(picture.filter(ImageFilter.GaussianBlur(random.uniform(0.3, 1.0))), np.float32)
    grain = random.normal(0, random.uniform(4, 12), (height, width, 1))  # of luminance: what fills real JPEG files
    return Image.fromarray(np.clip(blurred + grain, 0, 255).astype(np.uint8))


def make_photos(out: Path, source: Path | None, names: int = 1000) -> None:
    """Links to about 100 photographs under `names` names in ten classes: a folder of usual length, all of it in the page cache."""
    if out.exists():
        return
    if source is None:
        source = out.parent / "painted"
        source.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(3)
        for index in range(100):
            paint(index % CLASSES, random).save(source / f"photo_{index:03}.jpg", quality=92)
    files = sorted(path for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    if not files:
        raise SystemExit(f"{source}: no .jpg file")
    for kind in range(CLASSES):
        (out / f"class_{kind}").mkdir(parents=True)
    for index in range(names):
        target = files[index % len(files)].resolve()
        os.symlink(target, out / f"class_{index % CLASSES}" / f"{index:05}.jpg")


def make_scenes(out: Path, train: int, test: int) -> None:
    if out.exists():
        return
    random = np.random.default_rng(4)
    for part, count in (("train", train), ("test", test)):
        for index in range(count):
            folder = out / part / f"class_{index % CLASSES}"
            folder.mkdir(parents=True, exist_ok=True)
            paint(index % CLASSES, random, 400, 300).save(folder / f"{index:05}.jpg", quality=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--mnist", type=Path)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--digits", type=int, default=60000)
    parser.add_argument("--scenes", type=int, default=800)
    arguments = parser.parse_args()
    make_mnist(arguments.out / "mnist", arguments.mnist, arguments.digits)
    make_tfrecord(arguments.out / "mnist.tfrecord", read_idx(arguments.out / "mnist/train-images.idx"),
                  read_idx(arguments.out / "mnist/train-labels.idx"))
    make_photos(arguments.out / "photos", arguments.photos)
    make_scenes(arguments.out / "scenes", arguments.scenes, arguments.scenes // 4)


if __name__ == "__main__":
    main()
