import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

points = np.random.randn(512, 2).astype("float32")


# Idea
def coupling():
    inputs = keras.Input((2,))
    l2 = keras.regularizers.L2(0.01)
    shift = layers.Dense(32, activation="relu", kernel_regularizer=l2)(inputs)
    shift = layers.Dense(2, kernel_regularizer=l2)(layers.Dense(32, activation="relu")(shift))
    scale = layers.Dense(32, activation="relu", kernel_regularizer=l2)(inputs)
    scale = layers.Dense(2, activation="tanh")(layers.Dense(32, activation="relu")(scale))
    return keras.Model(inputs, [scale, shift])


networks = [coupling() for _ in range(6)]
weights = [w for network in networks for w in network.trainable_weights]
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        log_det = 0.0
        for i in reversed(range(6)):
            mask = np.array([i % 2, (i + 1) % 2], "float32")
            scale, shift = networks[i](x * mask)
            scale, shift = scale * (1 - mask), shift * (1 - mask)
            x = x * mask + (1 - mask) * ((x - shift) * ops.exp(-scale))
            log_det -= ops.sum(scale, axis=1)
        log_likelihood = -0.5 * ops.sum(ops.square(x), axis=1) - math.log(2 * math.pi)
        loss = -ops.mean(log_likelihood + log_det)
    optimizer.apply(tape.gradient(loss, weights), weights)
    return loss


losses = []
for epoch in range(60):
    for batch in tf.data.Dataset.from_tensor_slices(points).shuffle(1024).batch(128):
        losses.append(float(train_step(batch)))
first, last = losses[0], losses[-1]
# Shown
