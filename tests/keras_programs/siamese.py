import keras
import numpy as np
from keras import layers, ops

digits, labels = np.random.rand(100, 28, 28, 1).astype("float32"), np.arange(100) % 10


# Idea
def make_pairs(x, y, count):
    left, right, different = [], [], []
    for i in np.random.randint(0, len(x), count):
        same = np.random.rand() < 0.5
        other = np.random.choice(np.flatnonzero((y == y[i]) == same))
        left.append(x[i])
        right.append(x[other])
        different.append(0.0 if same else 1.0)
    return [np.array(left), np.array(right)], np.array(different)


pairs, different = make_pairs(digits, labels, 800)

inputs = keras.Input((28, 28, 1))
x = layers.BatchNormalization()(inputs)
x = layers.Conv2D(8, 5, activation="relu")(x)
x = layers.AveragePooling2D(2)(x)
x = layers.Conv2D(16, 5, activation="relu")(x)
x = layers.AveragePooling2D(2)(x)
x = layers.Flatten()(x)
x = layers.BatchNormalization()(x)
embedding = keras.Model(inputs, layers.Dense(10, activation="tanh")(x), name="embedding")

left, right = keras.Input((28, 28, 1)), keras.Input((28, 28, 1))
gap = layers.Subtract()([embedding(left), embedding(right)])
distance = layers.Lambda(
    lambda v: ops.sqrt(ops.maximum(ops.sum(ops.square(v), axis=1, keepdims=True), 1e-7))
)(gap)
output = layers.Dense(1, activation="sigmoid")(layers.BatchNormalization()(distance))
siamese = keras.Model([left, right], output)


def contrastive(y, p):
    return ops.mean((1 - y) * ops.square(p) + y * ops.square(ops.maximum(1 - p, 0)), axis=1)


siamese.compile(optimizer="rmsprop", loss=contrastive, metrics=["accuracy"])
siamese.fit(pairs, different, batch_size=32, epochs=4, verbose=2)
# Shown
