// The program of the README.
#include <stoker/stoker.h>

#include <vector>

using namespace stoker;

int main() {
  // A thousand points of the plane; which of them lie inside the unit circle?
  Rng rng(1);
  std::vector<float> points;
  std::vector<int32_t> inside;
  for (int sample = 0; sample < 1000; ++sample) {
    float x = rng.normal(), y = rng.normal();
    points.insert(points.end(), {x, y});
    inside.push_back(x * x + y * y < 1);
  }

  Sequential model({
      Input({2}),
      Dense(32, {.activation = "relu"}),
      Dense(2, {.activation = "softmax"}),
  });
  model.compile({.optimizer = Adam({.learning_rate = 1e-2}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  model.fit(Tensor::from(points, {1000, 2}), Tensor::from(inside, {1000}), {.epochs = 10});
}
