import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

images = np.random.rand(100, 28, 28, 1).astype("float32")
batches = tf.data.Dataset.from_tensor_slices(images).batch(50)

# Idea
latent_dim = 2
inputs = keras.Input((28, 28, 1))
x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inputs)
x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
x = layers.Flatten()(x)
x = layers.Dense(16, activation="relu")(x)
z_mean = layers.Dense(latent_dim, name="z_mean")(x)
z_log_var = layers.Dense(latent_dim, name="z_log_var")(x)
encoder = keras.Model(inputs, [z_mean, z_log_var], name="encoder")

latent_inputs = keras.Input((latent_dim,))
x = layers.Dense(7 * 7 * 16, activation="relu")(latent_inputs)
x = layers.Reshape((7, 7, 16))(x)
x = layers.UpSampling2D(2)(x)
x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
x = layers.UpSampling2D(2)(x)
decoder = keras.Model(latent_inputs, layers.Conv2D(1, 3, padding="same")(x), name="decoder")

weights = encoder.trainable_weights + decoder.trainable_weights
optimizer = keras.optimizers.Adam(3e-3)


@tf.function
def train_step(images):
    with tf.GradientTape() as tape:
        mean, log_var = encoder(images)
        sampled = mean + ops.exp(0.5 * log_var) * keras.random.normal(ops.shape(mean))
        pixels = ops.binary_crossentropy(images, decoder(sampled), from_logits=True)
        reconstruction = ops.mean(ops.sum(pixels, axis=(1, 2, 3)))
        kl = -0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var))
        loss = reconstruction + ops.mean(ops.sum(kl, axis=1))
    optimizer.apply(tape.gradient(loss, weights), weights)
    return loss


losses = []
for epoch in range(6):
    for batch in batches:
        losses.append(float(train_step(batch)))
    print(f"epoch {epoch + 1}: loss {losses[-1]:.1f}")
keras.utils.save_img("digit.png", decoder.predict(np.zeros((1, latent_dim)))[0])
# Shown
