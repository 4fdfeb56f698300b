import keras
import numpy as np
from keras import layers

x_train, labels = np.random.rand(64, 28, 28, 1).astype("float32"), np.random.randint(0, 10, 64)
x_test, test_labels = x_train, labels

# Idea
y_train = keras.utils.to_categorical(labels, 10)
y_test = keras.utils.to_categorical(test_labels, 10)
model = keras.Sequential([
    keras.Input((28, 28, 1)),
    layers.Conv2D(32, 3, activation="relu"),
    layers.MaxPooling2D(2),
    layers.Conv2D(64, 3, activation="relu"),
    layers.MaxPooling2D(2),
    layers.Flatten(),
    layers.Dropout(0.5),
    layers.Dense(10, activation="softmax"),
])
model.summary()
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=4, batch_size=32, validation_split=0.1)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0], "accuracy:", score[1])
# Shown
