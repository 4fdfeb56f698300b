import keras
import numpy as np
import tensorflow as tf
from keras import layers

WORDS, LENGTH, WIDTH, MASK = 50, 12, 32, 49
sentences = np.random.randint(0, WORDS - 1, (64, LENGTH)).astype("int32")


class TokenAndPositionEmbedding(layers.Layer):  # Stoker's and KerasHub's
    def __init__(self, words, length, width):
        super().__init__()
        self.tokens, self.places = layers.Embedding(words, width), layers.Embedding(length, width)

    def call(self, x):
        return self.tokens(x) + self.places(keras.ops.arange(LENGTH))


# Idea
# 15 % of the words are hidden, and only they count.
def mask(sentence):
    hidden = tf.random.uniform((LENGTH,)) < 0.15
    return tf.where(hidden, MASK, sentence), sentence, tf.cast(hidden, tf.float32)


train = tf.data.Dataset.from_tensor_slices(sentences).shuffle(1024).map(mask).batch(32)

ids = keras.Input((LENGTH,), dtype="int32")
x = TokenAndPositionEmbedding(WORDS, LENGTH, WIDTH)(ids)
for _ in range(2):
    attended = layers.MultiHeadAttention(4, WIDTH // 4)(x, x)
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.1)(attended))
    forward = layers.Dense(WIDTH)(layers.Dense(2 * WIDTH, activation="relu")(x))
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.1)(forward))
model = keras.Model(ids, layers.Dense(WORDS, activation="softmax")(x), name="masked_bert")
model.compile(
    optimizer=keras.optimizers.Adam(3e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(),
    weighted_metrics=[keras.metrics.SparseCategoricalAccuracy()],
)
history = model.fit(train, epochs=20)
question = sentences[:1].copy()
truth = question[0, 5]
question[0, 5] = MASK
answer = model.predict(question).argmax(-1)
# Shown
