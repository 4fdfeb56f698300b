// Keras's "Knowledge distillation": a small student learns what a larger teacher thinks.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

namespace {

Sequential network(int64_t filters, const std::string& name) {
  return Sequential(
      {Input({28, 28, 1}), Conv2D(filters, 3, {.strides = 2, .padding = "same"}), LeakyReLU(0.2),
       MaxPooling2D(2), Conv2D(2 * filters, 3, {.strides = 2, .padding = "same"}), Flatten(),
       Dense(10)},
      {.name = name});
}

}  // namespace

int main() {
  set_seed(1);
  Digits train = draw_digits(1500, 1), test = draw_digits(500, 2);
  data::Dataset batches = data::from_slices({train.x, train.y}).shuffle().batch(32);
  Sequential teacher = network(32, "teacher"), student = network(8, "student");
  CompileArgs how{.optimizer = "adam",
                  .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {"accuracy"}};
  teacher.compile(how);
  teacher.fit(batches, {.epochs = 4, .verbose = 0});

  // Idea: 20 lines in Keras.
  double alpha = 0.1, temperature = 5;
  Adam optimizer({.learning_rate = 3e-3});
  Loss student_loss = SparseCategoricalCrossentropy({.from_logits = true});
  auto train_step = function([&](Value x, Value y) {
    Value soft = ops::softmax(teacher(x, {.training = false}) / temperature);
    Value logits = student(x);
    Value hard = student_loss(y, logits);
    Value distilled = ops::mean(ops::softmax_cross_entropy(logits / temperature, soft));
    Value loss = alpha * hard + (1 - alpha) * temperature * temperature * distilled;
    optimizer.apply(gradients(loss, student.trainable_variables()), student.trainable_variables());
    return Values{loss, hard, distilled};
  });
  for (int epoch = 0; epoch < 6; ++epoch) {
    double last = 0;
    for (const Batch& batch : batches) last = train_step(batch[0], batch[1])[1];
    std::printf("epoch %d: student loss %.4f\n", epoch + 1, last);
  }
  student.compile(how);
  double accuracy = student.evaluate(test.x, test.y)["accuracy"];

  // Shown:
  std::printf("teacher %.3f with %ld weights, student %.3f with %ld\n",
              teacher.evaluate(test.x, test.y)["accuracy"], long(teacher.count_params()), accuracy,
              long(student.count_params()));
  return accuracy > 0.7 ? 0 : 1;
}
