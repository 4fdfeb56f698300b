import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

x_train, y_train = np.random.rand(64, 28, 28, 1).astype("float32"), np.random.randint(0, 10, 64)
x_test, y_test = x_train, y_train
teacher = keras.Sequential([layers.Flatten(), layers.Dense(64, activation="relu"), layers.Dense(10)])
student = keras.Sequential([keras.Input((28, 28, 1)), layers.Flatten(), layers.Dense(10)])
batches = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(32)
how = {"loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "metrics": ["accuracy"]}

# Idea
alpha, temperature = 0.1, 5
optimizer = keras.optimizers.Adam(3e-3)
student_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    soft = ops.softmax(teacher(x, training=False) / temperature)
    with tf.GradientTape() as tape:
        logits = student(x, training=True)
        hard = student_loss(y, logits)
        distilled = ops.categorical_crossentropy(soft, logits / temperature, from_logits=True)
        distilled = ops.mean(distilled)
        loss = alpha * hard + (1 - alpha) * temperature**2 * distilled
    optimizer.apply(tape.gradient(loss, student.trainable_weights), student.trainable_weights)
    return loss, hard, distilled


for epoch in range(6):
    for x, y in batches:
        last = float(train_step(x, y)[1])
    print(f"epoch {epoch + 1}: student loss {last:.4f}")
student.compile(**how)
accuracy = student.evaluate(x_test, y_test)[1]
# Shown
