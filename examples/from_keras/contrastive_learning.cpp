// Keras's "Semi-supervised image classification using contrastive pretraining with SimCLR": an encoder that learns without
// labels, and a linear probe that shows what it has learned.
#include <cstdio>

#include "../digits.h"

using namespace stoker;

int main() {
  set_seed(1);
  Digits digits = draw_digits(512, 1), test = draw_digits(200, 2);

  // Idea: 88 lines in Keras.
  constexpr double kTemperature = 0.1;
  Sequential augmenter({RandomTranslation(0.1, 0.1), RandomZoom(0.15),
                        RandomBrightness(0.2, {.value_range = {0, 1}})},
                       {.name = "augmenter"});
  Sequential encoder({Input({28, 28, 1}), Conv2D(16, 3, {.strides = 2, .activation = "relu"}),
                      Conv2D(32, 3, {.strides = 2, .activation = "relu"}), Flatten(),
                      Dense(64, {.activation = "relu"})},
                     {.name = "encoder"});
  Sequential head({Input({64}), Dense(64, {.activation = "relu"}), Dense(64)}, {.name = "head"});
  Sequential probe({Input({64}), Dense(10)}, {.name = "probe"});
  Value picture = Input({28, 28, 1});
  Model model(picture, probe(encoder(picture)));

  Adam contrastive({.learning_rate = 2e-3}), probing({.learning_rate = 3e-2});
  Metric matched = SparseCategoricalAccuracy({.name = "c_acc"});
  Metric recognized = SparseCategoricalAccuracy({.name = "p_acc"});
  std::vector<Variable> learned = encoder.trainable_variables();
  for (const Variable& each : head.trainable_variables()) learned.push_back(each);

  // Two views of a picture shall be alike, and unlike those of the others.
  auto contrast = [&](const Value& one, const Value& other) {
    Value similarities =
        ops::matmul(ops::normalize(one), ops::normalize(other), {.transpose_b = true}) /
        kTemperature;
    Value labels = ops::arange(one.shape()[0]);
    matched.update(labels, similarities);
    Value there = sparse_categorical_crossentropy(labels, similarities, {.from_logits = true});
    Value back = sparse_categorical_crossentropy(labels, ops::transpose(similarities),
                                                 {.from_logits = true});
    return (there + back) / 2.0;
  };
  auto train_step = [&](Value images, Value labels) -> StepLogs {
    Value loss = contrast(head(encoder(augmenter(images))), head(encoder(augmenter(images))));
    contrastive.apply(gradients(loss, learned), learned);

    Value logits = probe(ops::stop_gradient(encoder(images, {.training = false})));
    Value probe_loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true});
    probing.apply(gradients(probe_loss, probe.trainable_variables()), probe.trainable_variables());
    recognized.update(labels, logits);
    return {{"c_loss", loss}, matched, {"p_loss", probe_loss}, recognized};
  };
  model.compile({.optimizer = contrastive,
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .train_step = train_step});
  History history = model.fit(
      digits.x, digits.y, {.epochs = 16, .batch_size = 64, .validation_data = {test.x, test.y}});

  // Shown:
  std::printf("views matched: %.2f, digits recognised: %.2f\n", history["c_acc"].back(),
              history["val_accuracy"].back());
  return history["val_accuracy"].back() > 0.5 ? 0 : 1;
}
