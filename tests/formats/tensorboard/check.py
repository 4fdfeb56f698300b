#!/usr/bin/env python3
"""Reads the event files below a folder as TensorBoard does, and prints what they hold as JSON.

    check.py LOG_DIR

For every run: its scalars as [step, value] by tag, its histograms, its texts, and its hyper-parameters. Tests compare
them with what was written. Exits with 77, and says why, where the package tensorboard is missing.
"""

import json
import sys

try:
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
    from tensorboard.plugins.hparams import metadata as hparams
    from tensorboard.util import tensor_util
except ImportError as error:
    print(f"no tensorboard: {error}")
    sys.exit(77)


def histogram(event):
    value = event.histogram_value
    return {"step": event.step, "min": value.min, "max": value.max, "num": value.num, "sum": value.sum,
            "sum_squares": value.sum_squares, "limits": list(value.bucket_limit), "counts": list(value.bucket)}


def plain(value):
    return getattr(value, value.WhichOneof("kind"))


def hparams_of(run):
    content = run.PluginTagToContent("hparams") if "hparams" in run.summary_metadata_plugins else {}
    found = {}
    for tag, data in content.items():
        if tag == hparams.SESSION_START_INFO_TAG:
            start = hparams.parse_session_start_info_plugin_data(data)
            found["hparams"] = {name: plain(value) for name, value in start.hparams.items()}
        if tag == hparams.SESSION_END_INFO_TAG:
            found["status"] = hparams.parse_session_end_info_plugin_data(data).status
    return found


def texts_of(run, tags):
    """What the Text page shows."""
    found = {}
    for tag in tags:
        if run.SummaryMetadata(tag).plugin_data.plugin_name != "text":
            continue
        found[tag] = [[event.step, tensor_util.make_ndarray(event.tensor_proto).item().decode()] for event in run.Tensors(tag)]
    return found


def main():
    multiplexer = EventMultiplexer(size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    multiplexer.AddRunsFromDirectory(sys.argv[1])
    multiplexer.Reload()
    runs = {}
    for name, tags in multiplexer.Runs().items():
        run = multiplexer.GetAccumulator(name)
        run.summary_metadata_plugins = multiplexer_plugins(run)
        runs[name] = {
            "scalars": {tag: [[event.step, event.value] for event in run.Scalars(tag)] for tag in tags["scalars"]},
            "histograms": {tag: [histogram(event) for event in run.Histograms(tag)] for tag in tags["histograms"]},
            "texts": texts_of(run, tags["tensors"]),
            **hparams_of(run),
        }
    print(json.dumps(runs))


def multiplexer_plugins(run):
    return {data.plugin_data.plugin_name for data in run.summary_metadata.values()}


if __name__ == "__main__":
    main()
