#include <stoker/stoker.h>

using namespace stoker;

int main() {
  Tensor x = Tensor::from({0.F, 0.F, 0.F, 1.F, 1.F, 0.F, 1.F, 1.F}, {4, 2});
  Tensor sum = Tensor::from<int32_t>({0, 1, 1, 2}, {4});

  Sequential model({Input({2}), Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  model.fit(x, sum, {.epochs = 2, .verbose = 0});
  return model.predict(x).shape() == Shape{4, 3} ? 0 : 1;
}
