// Seed 002, block 2: a profiler around the training loop, to find what is slow. Here one question
// is enough: doctor::diagnose() trains for some steps, takes the time of every layer, forwards and
// backwards, writes a page for the browser, and puts every bit of the model back.
#include "../digits.h"
#include "side_by_side.h"

using namespace stoker;

int main() {
  set_seed(1);
  Digits digits = draw_digits(1024, 1);
  auto train = data::from_slices({digits.x, digits.y}).shuffle().batch(32);
  Sequential model({Input({28, 28, 1}), Conv2D(64, 5, {.activation = "relu", .name = "wide"}),
                    MaxPooling2D(2), Conv2D(8, 3, {.activation = "relu", .name = "narrow"}),
                    Flatten(), Dense(10, {.activation = "softmax", .name = "classes"})});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  std::vector<Tensor> before = model.get_weights();

  doctor::Diagnosis diagnosis = doctor::diagnose(model, train, {.steps = 60, .seconds = 20});
  std::printf("%s\n", diagnosis.verdict.sentence.c_str());
  double of_wide = 0, of_others = 0;
  for (const doctor::LayerReport& row : diagnosis.layers) {
    std::printf("%-10s %-14s %-9s %8.1f µs, %3.0f %% of the peak\n", row.layer.c_str(),
                row.op.c_str(), row.phase.c_str(), 1e6 * row.seconds, 100 * row.compute_share);
    if (row.layer == "wide") of_wide += row.flops;
    if (row.layer == "narrow" || row.layer == "classes") of_others += row.flops;
  }
  diagnosis.write("logs");
  std::printf("logs/doctor.html has the rest\n");
  require(of_wide > of_others, "most of the work is in the layer \"wide\"");
  require(before == model.get_weights(), "the model is as it was");
}
