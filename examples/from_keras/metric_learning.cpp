// Keras's "Metric learning for image similarity search": pictures of one class lie together.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

namespace {

// Per class one pair of digits: anchors and positives [10, 28, 28, 1].
Batch draw_batch(uint64_t step) {
  Tensor anchors(DType::float32, {10, 28, 28, 1}), positives(DType::float32, {10, 28, 28, 1});
  for (int digit = 0; digit < 10; ++digit) {
    Rng rng(step, uint64_t(digit));
    digits_detail::draw(anchors.data_mut<float>() + digit * 784, digit, rng);
    digits_detail::draw(positives.data_mut<float>() + digit * 784, digit, rng);
  }
  return {anchors, positives};
}

}  // namespace

int main() {
  set_seed(1);

  // Idea: 22 lines in Keras.
  Value inputs = Input({28, 28, 1});
  Value x = Conv2D(16, 3, {.strides = 2, .activation = "relu"})(inputs);
  x = Conv2D(32, 3, {.strides = 2, .activation = "relu"})(x);
  x = Conv2D(64, 3, {.strides = 2, .activation = "relu"})(x);
  x = GlobalAveragePooling2D()(x);
  Value embeddings = UnitNormalization()(Dense(8)(x));
  Model model(inputs, embeddings);
  Adam optimizer({.learning_rate = 5e-3});
  Loss loss_fn = SparseCategoricalCrossentropy({.from_logits = true});
  Tensor sparse_labels = Tensor::from({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {10});
  auto train_step = function([&](Value anchors, Value positives) {
    Value similarities = ops::matmul(model(anchors), model(positives), {.transpose_b = true});
    Value loss = loss_fn(sparse_labels, similarities / 0.2);
    optimizer.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });
  double first = 0, last = 0;
  for (uint64_t step = 0; step < 300; ++step) {
    Batch batch = draw_batch(step);
    last = train_step(batch[0], batch[1]);
    if (step == 0) first = last;
  }

  // Shown:
  std::printf("loss %.3f, then %.3f\n", first, last);
  return last < 0.7 * first ? 0 : 1;
}
