import keras
import numpy as np
from keras import layers

digits = np.random.rand(40, 28, 28, 1).astype("float32")
noise = np.clip(digits + 0.4 * np.random.randn(*digits.shape), 0, 1)

# Idea
inputs = layers.Input((28, 28, 1))
x = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
x = layers.MaxPooling2D(2)(x)
x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D(2)(x)

x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
x = layers.UpSampling2D(2)(x)
x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
x = layers.UpSampling2D(2)(x)
x = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)

autoencoder = keras.Model(inputs, x)
autoencoder.compile(optimizer=keras.optimizers.Adam(5e-3), loss="binary_crossentropy")
autoencoder.fit(noise, digits, epochs=4, validation_split=0.2)
predictions = autoencoder.predict(noise)
keras.utils.save_img("denoised.png", predictions[0])
# Shown
