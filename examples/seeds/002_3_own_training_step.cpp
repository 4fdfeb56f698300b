// Seed 002, block 3: a training step of one's own under tf.function, with a gradient tape and
// apply_gradients. The seed runs it under a MirroredStrategy; Stoker trains on one device, so that
// there is no scope: the step is what a replica would do. It is a function of Values, traced once,
// and gives bit for bit what fit() gives.
#include "../digits.h"
#include "side_by_side.h"

using namespace stoker;

namespace {

constexpr int64_t kBatch = 32;

Sequential create_model() {
  set_seed(1);
  return Sequential({Input({28, 28, 1}), Conv2D(8, 3, {.activation = "relu"}), MaxPooling2D(2),
                     Flatten(), Dense(10, {.activation = "softmax"})});
}

}  // namespace

int main() {
  Digits digits = draw_digits(512, 1);
  auto train = data::from_slices({digits.x, digits.y}).batch(kBatch);

  Sequential model = create_model();
  Adam optimizer;
  Loss loss_fn("sparse_categorical_crossentropy");
  auto train_step = function([&](Value inputs, Value labels) {
    Value loss = loss_fn(labels, model(inputs));
    optimizer.apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  });
  std::vector<double> losses;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const Batch& batch : train) losses.push_back(train_step(batch[0], batch[1]).item());
  std::printf("loss of the first batch %.4f, of the last %.4f\n", losses.front(), losses.back());

  Sequential same = create_model();
  same.compile({.optimizer = Adam(), .loss = loss_fn});
  same.fit(train, {.epochs = 3, .verbose = 0});
  require(losses.back() < losses.front(), "it learns");
  require(model.get_weights() == same.get_weights(), "fit gives the same weights");
}
