import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

digits = np.random.rand(2, 28, 28, 1).astype("float32")
i = keras.Input((28, 28, 1))
x = layers.Conv2D(8, 3, name="last_conv")(i)
model = keras.Model(i, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))

# Idea
grad_model = keras.Model(model.inputs, [model.get_layer("last_conv").output, model.output])


@tf.function
def heatmap_of(image):
    with tf.GradientTape() as tape:
        features, predictions = grad_model(image, training=False)
        score = ops.sum(ops.max(predictions, axis=1))
    grads = tape.gradient(score, features)
    weights = ops.mean(grads, axis=(1, 2), keepdims=True)
    heatmap = ops.relu(ops.sum(features * weights, axis=-1))
    return heatmap / ops.max(heatmap)


heatmap = np.array(heatmap_of(digits[:1]))[0]
keras.utils.save_img("heatmap.png", heatmap[..., None])
# Shown
