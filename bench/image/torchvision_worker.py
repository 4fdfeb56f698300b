"""The same work in torchvision, on one core: decode, random-resized-crop 224, flip.

    torchvision_worker.py FOLDER

Reads commands from standard input, one a line, and answers each with one line:
    run               one pass over the folder's JPEG files: seconds
    compare RECORDS   RECORDS holds, for each crop, six int32 (file, y, x, height, width, flip) and 224×224×3 bytes; does
                      the same crops with PIL: "largest mean" difference in grey levels
"""

import io
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image

SIZE = 224


def open_rgb(data):
    return Image.open(io.BytesIO(data)).convert("RGB")


def run(files, transform):
    begin = time.perf_counter()
    for data in files:
        np.asarray(transform(open_rgb(data)))
    return str(time.perf_counter() - begin)


def compare(files, records):
    raw = np.fromfile(records, np.uint8).reshape(-1, 24 + SIZE * SIZE * 3)
    largest, total = 0, 0.0
    for record in raw:
        index, y, x, height, width, flip = record[:24].view(np.int32)
        picture = F.resized_crop(open_rgb(files[index]), y, x, height, width, (SIZE, SIZE), T.InterpolationMode.BILINEAR)
        picture = F.hflip(picture) if flip else picture
        difference = np.abs(np.asarray(picture).astype(int) - record[24:].reshape(SIZE, SIZE, 3))
        largest, total = max(largest, difference.max()), total + difference.mean()
    return f"{largest} {total / len(raw)}"


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    files = [p.read_bytes() for p in sorted(Path(sys.argv[1]).iterdir()) if p.suffix in (".jpg", ".jpeg")]
    transform = T.Compose([T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip()])
    print(f"torchvision {len(files)}", flush=True)
    for line in sys.stdin:
        words = line.split()
        print(run(files, transform) if words[0] == "run" else compare(files, words[1]), flush=True)


main()
