#!/usr/bin/env python3
"""Checks that includes go one way through the house, that vendors' headers stay in their rooms, and that only an engine
knows its name: everything else asks for its BackendTraits.

    scripts/check_includes.py [ROOT]

Prints one line per violation and exits with 1 if there is any. Knows src/, apps/ and include/stoker.
"""

import re
import sys
from pathlib import Path

# Which rooms a room may include besides itself. What a room needs of a later one is handed to it
# (docs/design/018); tests/links links each room with these alone.
CORE = {"base", "graph", "engine", "nn", "formats", "data"}
ALLOWED = {
    "base": set(),
    "formats": {"base"},
    "data": {"base", "formats"},
    "graph": {"base"},
    "engine": {"base", "graph"},
    "nn": {"base", "graph", "engine"},
    "train": CORE,
    "observe": CORE | {"train"},
    "interop": CORE | {"train"},
    "distribute": CORE | {"train"},
    "compress": CORE | {"train", "observe"},
    "jobs": CORE | {"train", "observe", "interop", "distribute", "compress"},
}
ALLOWED["apps"] = set(ALLOWED) | {"all"}

# Which room a public header, include/stoker/NAME.h, belongs to. stoker.h is the sum of them, for users only.
PUBLIC = {
    "base": "attrs batch context dtype error factor file random shape tensor tensor_view version",
    "data": "categories csv dataset dataset_options element image image_augment mixing numpy svmlight text tfrecord tokenizer "
    "typed_function utils",
    "formats": "safetensors",
    "graph": "attention custom_gradient ops ops_any_rank ops_arrays ops_boxes ops_fft ops_image ops_linalg ops_loops ops_math ops_nn ops_random "
    "ops_statistics value variable volume_ops with_values",
    "engine": "devices",
    "nn": "attention_layers audio_layers augmentation_layers bounding_boxes category_layers confusion_metrics constraints convolution_layers "
    "initializers layer layer_names layer_options layers layers_over_time losses metrics pooling_layers recurrent_layers "
    "regularization_layers regularizers remat residual_layers shape_layers transformer_layers volume",
    "train": "adaptive_optimizers auto_batch backup callback callbacks compile_lists config custom_objects feature_space flops function generate history idx "
    "logging_callbacks model more_callbacks multi_optimizer optimizers orbax_checkpoint own_step plot_model run_plan schedules serialize weights",
    "distribute": "distribute",
    "compress": "compare distill lighter prune quantize",
    "jobs": "applications",
    "interop": "language_models onnx",
    "observe": "doctor profiler",
    "all": "stoker",
}
ROOM_OF_HEADER = {name: room for room, names in PUBLIC.items() for name in names.split()}

# Inside data, the runtime runs what ops and sources plan: it knows neither of them.
INSIDE = [("src/data/runtime/", ("data/ops/", "data/sources/", "data/image/"))]

# Vendors' headers: what they look like, and the only places (path prefixes) that may include them.
VENDORS = [
    (
        "CUDA",
        re.compile(r"(cuda|cudnn|cublas|curand|cusparse|cufft|nvjpeg|nvml|nvrtc|nccl|nvtx3/|cub/|thrust/|cooperative_groups)"),
        ("src/engine/cuda/", "src/observe/device_monitor", "include/stoker/extend/", "src/distribute/nccl/"),
    ),
    ("MPI", re.compile(r"mpi\.h$"), ("src/distribute/mpi/",)),
    ("oneDNN", re.compile(r"(oneapi/dnnl/|dnnl|mkldnn)"), ("src/engine/cpu/",)),
]
# Libraries that Stoker uses inside and that a user of its headers need not have.
PRIVATE_LIBRARIES = re.compile(r"(fmt/|nlohmann/|zlib\.h|omp\.h|CLI/|jpeglib\.h|png\.h|mpi\.h)")

# Questions for an engine's name, and where they may stand. A kind of device is one folder and one line of registry.cpp.
ENGINE_NAME = re.compile(
    r'(?<!\\)"cuda(:[^"]*)?"|(name\(\)|device) *[!=]= *"(cpu|cuda|reference)|has_cuda|starts_with\("cuda'
)
ENGINES = ("src/engine/cpu/", "src/engine/cuda/", "src/engine/stub_cuda/", "src/engine/reference/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".hpp", ".cpp", ".cc", ".cu", ".cuh", ".inc"}
ADD_HERE = "add it to PUBLIC in scripts/check_includes.py"


def room_of_public(header):
    """The room of 'stoker/x.h'; None if the table does not know it."""
    parts = Path(header).parts[1:]
    if len(parts) > 1 and parts[0] == "extend":
        return "nn"
    return ROOM_OF_HEADER.get(Path(parts[0]).stem) if len(parts) == 1 else None


def room_of_file(path):
    """The room of a file given by its path from the root; None if unknown."""
    parts = Path(path).parts
    if parts[0] == "include":
        return room_of_public("/".join(parts[1:]))
    if parts[0] == "apps":
        return "apps"
    return parts[1] if len(parts) > 2 and parts[1] in ALLOWED else None


def check_vendors(path, header):
    for vendor, pattern, places in VENDORS:
        if pattern.match(header) and not path.startswith(places):
            yield f"{vendor} header <{header}> outside {', '.join(places)}"


def check_include(path, room, quote, header):
    """Yields what is wrong with one include of the file at `path`."""
    yield from check_vendors(path, header) if quote == "<" else ()
    public = path.startswith("include/")
    if public and PRIVATE_LIBRARIES.match(header):
        yield f"public header includes <{header}>, which users of the library need not have"

    if quote == '"':
        for place, later in INSIDE:
            if path.startswith(place) and header.startswith(later):
                yield f'"{header}" comes after {place}, which may not know it'
        target = header.split("/")[0]
        if public:
            yield f'public header includes "{header}", which is not installed; public headers are <stoker/x.h>'
            return
        if room == "apps" and target not in ALLOWED:
            return  # an application's own headers
        if target not in ALLOWED or "/" not in header:
            yield f'"{header}" does not start with a room; write it as "{room}/..."'
            return
    elif header.startswith("stoker/"):
        target = room_of_public(header)
        if target is None:
            yield f"<{header}> belongs to no known room; {ADD_HERE}"
            return
    else:
        return

    if room == "all" or target == room or target in ALLOWED[room]:
        return
    if target == "all":
        yield f"<{header}> is for users of the library; include the header that is meant"
        return
    known = ", ".join(sorted(ALLOWED[room])) or "no other room"
    yield f"{room} includes {target} ({header}), but {room} may know only: {known}"


def check_file(root, path):
    room = room_of_file(path)
    if room is None:
        hint = ADD_HERE if path.startswith("include/") else "rooms are the keys of ALLOWED in scripts/check_includes.py"
        yield f"{path}:1: belongs to no known room; {hint}"
        return
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if ENGINE_NAME.search(line.split("//")[0]) and not path.startswith(ENGINES):
            yield f"{path}:{number}: asks for an engine's name; ask for its BackendTraits (engine/backend.h)"
        match = INCLUDE.match(line)
        if match:
            for problem in check_include(path, room, match.group(1), match.group(2)):
                yield f"{path}:{number}: {problem}"


def check_tree(root):
    root = Path(root)
    files = []
    for top in ("include/stoker", "src", "apps"):
        files += [p for p in sorted((root / top).rglob("*")) if p.is_file() and p.suffix in SUFFIXES]
    return len(files), [problem for p in files for problem in check_file(root, p.relative_to(root).as_posix())]


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    count, problems = check_tree(root)
    for problem in problems:
        print(problem)
    print(f"includes: {count} files, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
