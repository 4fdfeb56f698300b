import os

import keras
import numpy as np
from keras import layers

for kind in ("cold", "warm"):
    os.makedirs(f"photos/{kind}", exist_ok=True)
    for i in range(10):
        keras.utils.save_img(f"photos/{kind}/{i}.jpg", np.random.rand(24, 24, 3))
keras.utils.save_img("warm.jpg", np.random.rand(24, 24, 3))


# Idea
def make_model(input_shape):
    inputs = keras.Input(input_shape)
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Conv2D(32, 3, strides=2, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    previous = x  # set aside the residual
    for size in [32, 64]:
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(size, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(size, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        residual = layers.Conv2D(size, 1, strides=2, padding="same")(previous)
        x = layers.Add()([x, residual])
        previous = x
    x = layers.SeparableConv2D(128, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.25)(x)
    return keras.Model(inputs, layers.Dense(1)(x))


train, validation = keras.utils.image_dataset_from_directory(
    "photos", batch_size=16, image_size=(24, 24), seed=1337, validation_split=0.2, subset="both"
)
flip = layers.RandomFlip("horizontal")
train = train.map(lambda x, y: (flip(x, training=True), y))
model = make_model((24, 24, 3))
keras.utils.plot_model(model, "model.png", show_shapes=True)
model.compile(
    optimizer=keras.optimizers.Adam(3e-3),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy(name="acc")],
)
callbacks = [keras.callbacks.ModelCheckpoint("save_at_{epoch}.keras")]
model.fit(train, epochs=4, validation_data=validation, callbacks=callbacks)
img = keras.utils.load_img("warm.jpg", target_size=(24, 24))
score = model.predict(keras.utils.img_to_array(img)[None])
print(f"logit of a warm picture: {score.item():.2f}")
# Shown
