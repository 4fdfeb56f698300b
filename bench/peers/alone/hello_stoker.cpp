// The program whose build is timed: a small model and one step of training. hello_libtorch.cpp is
// its counterpart.
#include <iostream>

#include <stoker/stoker.h>

using namespace stoker;

int main() {
  Sequential model({Input({4}), Dense(8, {.activation = "relu"}), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = 0.01}), .loss = "mean_squared_error"});
  std::cout << model.train_on_batch(Tensor::full({2, 4}, 1.0), Tensor::zeros({2, 1}))["loss"]
            << '\n';
}
