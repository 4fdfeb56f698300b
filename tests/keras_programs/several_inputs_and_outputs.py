import keras
import numpy as np
from keras import layers

title, body = np.random.randint(0, 500, (64, 10)), np.random.randint(0, 500, (64, 20))
tags = np.random.randint(0, 2, (64, 12)).astype("float32")
priority, department = np.random.rand(64, 1), np.random.randint(0, 4, 64)

# Idea
title_input = keras.Input((None,), dtype="int32", name="title")
body_input = keras.Input((None,), dtype="int32", name="body")
tags_input = keras.Input((12,), name="tags")
title_features = layers.Embedding(500, 16)(title_input)
body_features = layers.Embedding(500, 16)(body_input)
title_features = layers.LSTM(16)(title_features)
body_features = layers.LSTM(8)(body_features)
x = layers.Concatenate()([title_features, body_features, tags_input])
priority_pred = layers.Dense(1, name="priority")(x)
department_pred = layers.Dense(4, name="department")(x)
model = keras.Model([title_input, body_input, tags_input], [priority_pred, department_pred])
keras.utils.plot_model(model, "multi_input_and_output_model.png", show_shapes=True)
model.compile(
    optimizer=keras.optimizers.RMSprop(3e-3),
    loss=[
        keras.losses.BinaryCrossentropy(from_logits=True),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    ],
    loss_weights=[1.0, 0.5],
)
history = model.fit([title, body, tags], [priority, department], epochs=6, batch_size=32, verbose=2)
# Shown
