// An own training step: gradients and an optimiser in a function that is traced once, as under
// tf.function. It runs on one device, as fast as fit(), and gives the same weights; for several
// devices fit() has strategies (distribute/several_devices.cpp).
#include "../digits.h"
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

int main() {
  Digits digits = draw_digits(1024, 1);
  data::Dataset train = data::from_slices({digits.x, digits.y}).batch(32);
  Sequential fitted = small_cnn({28, 28, 1});

  // Idea: 13 lines in Keras.
  Sequential model = small_cnn({28, 28, 1});
  Adam optimizer;
  Loss loss_fn("sparse_categorical_crossentropy");
  auto train_step = function([&](Value inputs, Value labels) {
    Value loss = loss_fn(labels, model(inputs));
    Values gradient = gradients(loss, model.trainable_variables());
    optimizer.apply(gradient, model.trainable_variables());
    return loss;
  });
  auto own_epoch = [&] {
    LazyTensor loss;
    for (const Batch& batch : train) loss = train_step(batch[0], batch[1]);
    return loss.item();
  };
  // Shown:

  double first = own_epoch(), last = 0;
  fitted.fit(train, {.verbose = 0});
  compare({"an epoch of fit", [&] { fitted.fit(train, {.verbose = 0}); }},
          {"an epoch of the own step", [&] { last = own_epoch(); }}, 4, 0);
  std::puts("An own step runs on one device; fit() runs on several (example_several_devices).");
  require(last < first, "it learns");
  require(model.get_weights() == fitted.get_weights(), "fit gives the same weights");
}
