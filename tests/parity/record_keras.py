#!/usr/bin/env python3
"""Records in Keras what PyTorch does otherwise or does not have.

    python3 tests/parity/record_keras.py

Needs keras 3, tensorflow and numpy, and the files of record_torch.py, with which Keras's gradients are compared. Writes
every other record of Keras (README.md lists them) beside itself;
tests/parity/README.md says what is in them.
"""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # recorded on the CPU

import keras
import tensorflow as tf

import keras_applications
import keras_attention
import keras_audio
import keras_augment
import keras_layers
import keras_more_layers
import keras_more_ops
import keras_more_optimizers
import keras_networks
import keras_ops
import keras_optimizers
import keras_recurrent
import keras_rest
import keras_sequences
import keras_spatial
import keras_values
import keras_vocabulary


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    metadata = {
        "made_by": "tests/parity/record_keras.py",
        "keras": keras.__version__,
        "tensorflow": tf.__version__,
    }
    keras_networks.record_separable(metadata)
    keras_networks.record_adam(metadata)
    keras_optimizers.record_optimizers(metadata)
    keras_layers.record_layers(metadata)
    keras_recurrent.record_recurrent(metadata)
    keras_values.record_losses_and_metrics(metadata)
    keras_values.record_activations(metadata)
    keras_values.record_initializers(metadata)
    keras_sequences.record_sequences(metadata)
    keras_attention.record_attention(metadata)
    keras_ops.record_ops(metadata)
    keras_more_ops.record_more_ops(metadata)
    keras_rest.record_rest(metadata)
    keras_spatial.record_spatial(metadata)
    keras_augment.record_augment(metadata)
    keras_audio.record_audio(metadata)
    keras_more_layers.record_more_layers(metadata)
    keras_vocabulary.record_vocabulary(metadata)
    keras_applications.record_applications(metadata)
    keras_more_optimizers.record_more_optimizers(metadata)


if __name__ == "__main__":
    main()
