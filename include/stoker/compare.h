// Compares models for the same task: what each costs, and how good it is.
//
//   Comparison c = compare({{"float", model}, {"half the channels", strip(pruned)}}, test);
//   std::cout << c.text();
//
// Costs: parameters, size of the file, FLOPs, memory and time of a step in training and inference,
// share of the device's peak. Quality: loss and metrics on the data, and how often models agree.
//
// Steps are timed on one batch of the data, in blocks that alternate between the models, so that
// other load on the machine affects all of them alike; the input pipeline is not timed. Results are
// medians over the blocks, with the middle half as spread. The models are unchanged, bit for bit,
// compiled or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stoker/batch.h>
#include <stoker/model.h>

namespace stoker {

struct ComparedModel {
  std::string name;
  Model model;
  // Of a training step over that of the first model, as predict_speedup or the doctor said. The
  // comparison reports how far off the prediction was.
  std::optional<double> predicted_speedup = {};
};

struct CompareOptions {
  // Rows per timed step, taken from the first batch; empty: all of them.
  std::optional<int64_t> batch_size = {};
  double seconds = 4;            // approximate, for all timing together; 0: no timing
  bool training = true;          // also time training steps of models with trainable weights
  Optimizer optimizer = "adam";  // of those steps; a new one of its kind for each model
  // Empty: what each model was compiled with; a model that is not compiled takes those of the first
  // that is. Without any loss there are neither metrics nor training steps.
  LossList loss = {};
  std::vector<Metric> metrics = {};
  std::optional<int64_t> steps = {};  // batches that are evaluated; empty: all of the data
  Context* context = nullptr;         // null: the default one
};

// Time of a step: median and middle half over the blocks. 0: not timed.
struct StepTime {
  double seconds = 0, low = 0, high = 0;
  double samples_per_second = 0;
  // How many times as fast as the first model: the geometric mean of the ratios of neighbouring
  // blocks, with its 95 % interval.
  double speedup = 0, speedup_low = 0, speedup_high = 0;
  // FLOPs per second as a share of the device's measured peak; 0: not measured, which takes one
  // second of CompareOptions::seconds.
  double device_share = 0;
};

struct ModelFigures {
  std::string name;
  int64_t parameters = 0;
  double zero_share = 0;   // of the parameters
  int64_t file_bytes = 0;  // without optimiser; 0: the model cannot be saved
  double flops = 0;        // of a forward pass of one sample
  int64_t training_bytes = 0, inference_bytes = 0;  // peak memory of a step; 0: unknown
  StepTime training, inference;
  std::vector<std::pair<std::string, double>> metrics;  // loss first
  std::optional<double> predicted_speedup;
};

struct Comparison {
  std::vector<ModelFigures> models;
  // [i][k]: how far models i and k agree. Classes: the share of the same decisions; labels: of the
  // same sides; numbers: the correlation.
  std::vector<std::vector<double>> agreement;
  std::string agreement_of;  // "classes", "labels" or "numbers"
  int64_t samples = 0, batch_size = 0;
  std::string device;
  std::vector<std::string> notes;

  std::string text() const;
  std::string json() const;
  // One self-contained page, in the style of the doctor's.
  std::string html() const;
};

// ValueError for an empty list, data without a batch, two models of one name; ShapeError for models
// with different inputs or outputs.
Comparison compare(const std::vector<ComparedModel>& models, const Batches& data,
                   const CompareOptions& options = {});

// How many times as fast as `model` a training step of `smaller` should be, before one has run: the
// time of every op of a step of `model`, scaled by what the op of the same layer costs in `smaller`,
// in FLOPs and bytes and at the rates that `model` reaches. Takes about a second. The batch holds
// inputs and targets; loss and optimiser as in compare().
double predict_speedup(const Model& model, const Model& smaller, const Batch& batch,
                       const CompareOptions& options = {});

}  // namespace stoker
