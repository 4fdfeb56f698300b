import keras
import numpy as np
import tensorflow as tf
from keras import ops

picture = np.random.rand(1, 64, 64, 3).astype("float32")

# Idea
model = keras.applications.MobileNetV2(
    input_shape=(64, 64, 3), alpha=0.35, include_top=False, weights=None
)
feature_extractor = keras.Model(model.inputs, model.get_layer("block_5_add").output)
image = tf.Variable(picture * 2 - 1)


@tf.function
def gradient_ascent_step(learning_rate):
    with tf.GradientTape() as tape:
        activation = feature_extractor(image, training=False)
        loss = ops.mean(ops.square(activation))
    grads = tape.gradient(loss, image)
    grads /= ops.maximum(ops.max(ops.abs(grads)), 1e-30)
    image.assign_add(learning_rate * grads)
    return loss


first = float(gradient_ascent_step(0.1))
for _ in range(20):
    last = float(gradient_ascent_step(0.1))
keras.utils.save_img("dream.png", image[0])
# Shown
