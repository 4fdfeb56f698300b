// Pruning: nine of ten weights become zero, or half of the FLOPs leave the model. Only the second is
// faster, and the comparison says so: the advice of pages 000 and 001 to prune the model.
#include "../digits.h"
#include "../measure.h"
#include "../pictures.h"

using namespace stoker;

namespace {

Sequential network() {
  return Sequential({Input({28, 28, 1}), Conv2D(32, 3, {.activation = "relu"}), MaxPooling2D(2),
                     Conv2D(64, 3, {.activation = "relu"}), MaxPooling2D(2), Flatten(),
                     Dense(10, {.activation = "softmax"})});
}

}  // namespace

int main() {
  set_seed(1);
  Digits train = draw_digits(1500, 1), test = draw_digits(500, 2);
  Sequential model = compiled(network());
  model.fit(train.x, train.y, {.epochs = 4, .verbose = 0});
  Model sparse = strip(model), fewer = strip(model);  // copies
  for (const Model& each : {sparse, fewer})
    each.compile(
        {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});

  // Idea: 14 lines in Keras.
  Pruning pruning({.sparsity = 0.9}, PolynomialSparsity{.end_step = 60, .frequency = 10});
  sparse.fit(train.x, train.y, {.epochs = 2, .verbose = 0, .callbacks = {pruning}});
  prune(fewer, {.kind = PruneKind::channels, .flops = 0.5});
  fewer.fit(train.x, train.y, {.epochs = 2, .verbose = 0});
  Model half = strip(fewer);
  // Shown:
  Comparison comparison =
      compare({{"before", model}, {"90 % zeros", strip(sparse)}, {"half the FLOPs", half}},
              data::from_slices({test.x, test.y}).batch(50));
  std::puts(comparison.text().c_str());
  require(comparison.models[1].zero_share > 0.85, "nine of ten weights are zero");
  require(2 * comparison.models[2].flops <= comparison.models[0].flops, "half the FLOPs are gone");
  require(comparison.models[2].metrics[1].second > 0.85, "the smaller model knows the digits");
}
