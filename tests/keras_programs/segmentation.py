import keras
import numpy as np
from keras import layers

scenes, masks = np.random.rand(16, 24, 24, 3), np.random.randint(0, 3, (16, 24, 24))


# Idea
def convolved(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation("relu")(x)


def get_model(image, num_classes):
    inputs = keras.Input(image)
    x = inputs
    skipped = []
    for filters in [8, 16]:
        x = convolved(convolved(x, filters), filters)
        skipped.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = convolved(x, 32)
    for filters in [16, 8]:
        x = layers.UpSampling2D(2)(x)
        x = layers.Concatenate()([x, skipped.pop()])
        x = convolved(x, filters)
    outputs = layers.Conv2D(num_classes, 3, padding="same", activation="softmax")(x)
    return keras.Model(inputs, outputs)


model = get_model((24, 24, 3), 3)
model.compile(
    optimizer=keras.optimizers.Adam(5e-3),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
callbacks = [keras.callbacks.ModelCheckpoint("segmentation.keras", save_best_only=True)]
model.fit(scenes, masks, epochs=8, batch_size=8, validation_split=0.2, callbacks=callbacks)
# Shown
