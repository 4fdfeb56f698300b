// One network on one task: its smaller forms, seed by seed.
#pragma once

#include <string>
#include <vector>

#include <stoker/compare.h>
#include <stoker/model.h>

#include "compress/tasks.h"

namespace stoker::bench {

struct Training {
  int64_t epochs = 8, recovery = 4, batch = 32;
  double seconds = 2;  // of measuring steps, per comparison
};

// A network trained from a seed: `begun` for Training::epochs, `model` for Training::recovery more.
// Pruning begins from the first and is compared with the second: both have seen as many batches.
struct Trained {
  Model begun, model;
};

// Accuracies in percent; speedups against the float model: ratios of the medians of alternating blocks.
struct Trial {
  double accuracy = 0;
  double pruned = 0;    // 90 % of the weights
  double channels = 0;  // half the FLOPs
  double flops = 0;     // that were left
  double inference_speedup = 0, training_speedup = 0, predicted_speedup = 0;
  double int8 = 0, int8_speedup = 0;  // accuracy; of inference
  double float_ms = 0, int8_ms = 0;   // of a batch
  double student = 0, distilled = 0;  // of a quarter of the size
  double student_parameters = 0;      // of those of the model
};

Trained trained(const std::string& name, const Task& task, const Training& how);
// What peers measure with: DIR/model.onnx, and DIR/x.npy to calibrate and to predict.
void write_for_peers(const Model& model, const Task& task, const std::string& folder);
Trial try_out(const Trained& networks, const Task& task, const Training& how);

// Mean and half of the 95 % interval; 0 where there is a single value.
struct Mean {
  double value = 0, reach = 0;
};
Mean mean_of(const std::vector<double>& values);

}  // namespace stoker::bench
