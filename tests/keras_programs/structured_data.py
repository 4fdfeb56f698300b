import keras
import numpy as np
from keras import layers

age_values, cholesterol_values = np.random.randn(40, 1), np.random.randn(40, 1)
thal_values = np.random.choice(["normal", "fixed", "reversible"], 40)
ill = np.random.randint(0, 2, (40, 1))

# Idea
age_norm, cholesterol_norm = layers.Normalization(), layers.Normalization()
age_norm.adapt(age_values)
cholesterol_norm.adapt(cholesterol_values)
lookup = layers.StringLookup()
lookup.adapt(thal_values)
thal_ids = lookup(thal_values)

age = keras.Input((1,), name="age")
cholesterol = keras.Input((1,), name="cholesterol")
thal_id = keras.Input((), dtype="int64", name="thal")
x = layers.Concatenate()([
    age_norm(age),
    cholesterol_norm(cholesterol),
    layers.Embedding(lookup.vocabulary_size(), 2)(thal_id),
])
x = layers.Dense(32, activation="relu")(x)
x = layers.Dropout(0.3)(x)
output = layers.Dense(1, activation="sigmoid")(x)
model = keras.Model([age, cholesterol, thal_id], output)
model.compile(
    optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"]
)
data = [age_values, cholesterol_values, np.array(thal_ids)]
model.fit(data, ill, epochs=20, validation_split=0.2, verbose=2)
# Shown
