import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

NODES, CLASSES = 60, 3
words = np.random.rand(NODES, 12).astype("float32")
edges, classes = np.random.randint(0, NODES, (2, 200)), np.random.randint(0, CLASSES, NODES)


# Idea
class GraphConvolution(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.prepare = layers.Dense(units, activation="gelu")
        self.update = layers.Dense(units, activation="gelu")

    def call(self, nodes, edges):
        count = nodes.shape[0]
        messages = self.prepare(ops.take(nodes, edges[0], axis=0))
        sums = ops.segment_sum(messages, edges[1], count)
        counts = ops.segment_sum(ops.ones_like(messages), edges[1], count)
        return self.update(ops.concatenate([nodes, sums / ops.maximum(counts, 1)], axis=1))


class GraphNetwork(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConvolution(16), GraphConvolution(16)
        self.logits = layers.Dense(CLASSES)

    def call(self, words, edges):
        x = self.first(words, edges)
        return self.logits(x + self.second(x, edges))


network = GraphNetwork()
# Half of the classes are known.
known = (np.arange(NODES) < NODES // 2).astype("float32")
optimizer = keras.optimizers.Adam(5e-3)
crossentropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train_step(words, edges, classes, weights):
    with tf.GradientTape() as tape:
        loss = crossentropy(classes, network(words, edges), weights)
    optimizer.apply(tape.gradient(loss, network.trainable_weights), network.trainable_weights)
    return loss


for step in range(60):
    train_step(words, edges, classes, known)
found = ops.argmax(network(words, edges), axis=-1)
# Shown
