import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

TIMES = 20
pictures = np.random.rand(64, 28, 28, 1).astype("float32") * 2 - 1


# Idea
def time_embedding(time):
    rates = ops.exp(ops.arange(16, dtype="float32") * (-math.log(10000.0) / 16))
    angles = ops.cast(time, "float32") * rates
    return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)


def block(x, embedding, width):
    x = layers.Conv2D(width, 3, padding="same")(x)
    x = x + layers.Reshape((1, 1, width))(layers.Dense(width)(embedding))
    return layers.Activation("swish")(layers.GroupNormalization(4)(x))


def build_network():
    image, time = keras.Input((28, 28, 1)), keras.Input((1,), dtype="int32")
    embedding = layers.Dense(32, activation="swish")(layers.Lambda(time_embedding)(time))
    wide = block(image, embedding, 8)
    narrow = layers.AveragePooling2D(2)(wide)
    narrow = block(narrow, embedding, 16)
    x = layers.Concatenate()([layers.UpSampling2D(2)(narrow), wide])
    x = block(x, embedding, 8)
    noise = layers.Conv2D(1, 3, padding="same", kernel_initializer="zeros")(x)
    return keras.Model([image, time], noise)


# How much of the picture is left at each time.
shares = np.cumprod(1 - (1e-3 + 0.25 * np.arange(TIMES) / TIMES)).astype("float32")
network, average = build_network(), build_network()
average.set_weights(network.get_weights())
optimizer = keras.optimizers.Adam(2e-3)


@tf.function
def train_step(images):
    time = keras.random.randint((ops.shape(images)[0], 1), 0, TIMES)
    share = ops.reshape(ops.take(shares, time), (-1, 1, 1, 1))
    noise = keras.random.normal(ops.shape(images))
    noisy = ops.sqrt(share) * images + ops.sqrt(1 - share) * noise
    with tf.GradientTape() as tape:
        loss = ops.mean(ops.square(noise - network([noisy, time], training=True)))
    optimizer.apply(tape.gradient(loss, network.trainable_weights), network.trainable_weights)
    for slow, fast in zip(average.weights, network.weights):
        slow.assign(0.95 * slow + 0.05 * fast)
    return loss


losses = []
for epoch in range(5):
    for batch in tf.data.Dataset.from_tensor_slices(pictures).shuffle(1024).batch(32):
        losses.append(float(train_step(batch)))


@tf.function
def denoise(x, time):
    now, before = ops.take(shares, time), ops.take(shares, ops.maximum(time - 1, 0))
    noise = average([x, ops.full((ops.shape(x)[0], 1), time)], training=False)
    picture = ops.clip((x - ops.sqrt(1 - now) * noise) / ops.sqrt(now), -1, 1)
    return ops.sqrt(before) * picture + ops.sqrt(1 - before) * noise


drawn = keras.random.normal((4, 28, 28, 1))
for time in reversed(range(TIMES)):
    drawn = denoise(drawn, ops.convert_to_tensor(time))
# Shown
