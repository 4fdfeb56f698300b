import keras
import numpy as np
from keras import layers

images, labels = 255 * np.random.rand(8, 32, 32, 3).astype("float32"), np.random.rand(8, 1)

# Idea
base = keras.applications.MobileNetV2(
    input_shape=(32, 32, 3), alpha=0.35, include_top=False, weights=None
)
base.trainable = False
inputs = keras.Input((32, 32, 3))
x = layers.Rescaling(1 / 127.5, -1)(inputs)
x = base(x, training=False)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.2)(x)
model = keras.Model(inputs, layers.Dense(1)(x))
model.summary()
before = base.get_weights()
model.compile(optimizer="adam", loss="mse", metrics=["mae"])
model.fit(images, labels, epochs=2)
kept = all((a == b).all() for a, b in zip(base.get_weights(), before))

base.trainable = True
model.compile(optimizer=keras.optimizers.Adam(1e-5), loss="mse", metrics=["mae"])
model.fit(images, labels, epochs=1)
# Shown
