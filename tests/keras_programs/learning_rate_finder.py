import keras
import numpy as np
from keras import layers

x, y = np.random.rand(3200, 28, 28, 1).astype("float32"), np.random.randint(0, 10, 3200)
model = keras.Sequential([keras.Input((28, 28, 1)), layers.Flatten(), layers.Dense(10)])
model.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


# Idea
class LRFinder(keras.callbacks.Callback):
    def __init__(self, min_lr, max_lr, steps):
        super().__init__()
        self.lr, self.factor = min_lr, (max_lr / min_lr) ** (1 / steps)
        self.rates, self.losses = [], []

    def on_train_begin(self, logs=None):
        self.model.optimizer.learning_rate = self.lr

    def on_train_batch_end(self, batch, logs=None):
        self.rates.append(self.lr)
        self.losses.append(logs["loss"])
        self.lr *= self.factor
        self.model.optimizer.learning_rate = self.lr
        if self.losses[-1] > 4 * self.losses[0]:
            self.model.stop_training = True


finder = LRFinder(1e-5, 1.0, 100)
model.fit(x, y, verbose=0, callbacks=[finder])
# Shown
