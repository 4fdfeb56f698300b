// A small student learns from a larger teacher, and the comparison says what that brings: page 001's
// advice on knowledge distillation.
#include "../digits.h"
#include "../measure.h"

using namespace stoker;

namespace {

Sequential network(int64_t filters, const char* name) {
  return Sequential({Input({28, 28, 1}), Conv2D(filters, 3, {.activation = "relu"}),
                     MaxPooling2D(2), Conv2D(2 * filters, 3, {.activation = "relu"}),
                     MaxPooling2D(2), Flatten(), Dense(10, {.activation = "softmax"})},
                    {.name = name});
}

}  // namespace

int main() {
  set_seed(1);
  Digits train = draw_digits(1500, 1), test = draw_digits(500, 2);
  CompileArgs how{.optimizer = Adam({.learning_rate = 2e-3}),
                  .loss = "sparse_categorical_crossentropy",
                  .metrics = {"accuracy"}};
  Sequential teacher = network(32, "teacher"), student = network(6, "student");
  teacher.compile(how);
  teacher.fit(train.x, train.y, {.epochs = 4, .verbose = 0});

  // Idea: 31 lines in Keras.
  Distiller distiller(teacher, student, {.alpha = 0.1, .temperature = 4});
  distiller.compile({.optimizer = Adam({.learning_rate = 2e-3}),
                     .loss = "sparse_categorical_crossentropy",
                     .metrics = {"accuracy"}});
  distiller.fit(train.x, train.y, {.epochs = 6, .verbose = 0});
  Comparison comparison = compare({{"teacher", teacher}, {"student", student}},
                                  data::from_slices({test.x, test.y}).batch(50));
  // Shown:
  std::puts(comparison.text().c_str());
  double accuracy = comparison.models[1].metrics[1].second;
  require(accuracy > 0.8, "the student has learnt the digits");
  require(5 * student.count_params() < teacher.count_params(), "and is five times smaller");
}
