import keras
import numpy as np
from keras import layers

images, texts = np.random.rand(32, 84, 28, 1), np.random.randint(1, 11, (32, 3))


# Idea
class CTCLayer(layers.Layer):
    def call(self, label, predicted):
        self.add_loss(keras.losses.CTC()(label, predicted))
        return predicted


def build_model():
    image = keras.Input((84, 28, 1), name="image")
    label = keras.Input((3,), dtype="int32", name="label")
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(image)
    x = layers.MaxPooling2D((4, 2))(x)
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D((1, 2))(x)
    x = layers.Reshape((21, 7 * 16))(x)
    x = layers.Dense(32, activation="relu")(x)
    x = layers.Bidirectional(layers.LSTM(24, return_sequences=True))(x)
    x = layers.Dense(11, name="characters")(x)
    model = keras.Model([image, label], CTCLayer()(label, x))
    model.compile(optimizer=keras.optimizers.Adam(0.01))
    return model


model = build_model()
history = model.fit([images, texts], epochs=14, batch_size=16)
reader = keras.Model(model.inputs[0], model.get_layer("characters").output)
best = reader.predict(images).argmax(-1)
# Shown
