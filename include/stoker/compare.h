// A fair comparison of models that do the same: what each costs, and how good it is.
//
//   Comparison c = compare({{"float", model}, {"half the channels", strip(pruned)}}, test);
//   std::cout << c.text();
//
// Costs: parameters, size of the file, FLOPs, memory and time of a step in training and inference,
// share of the device's peak. Quality: loss and metrics on the data, and how often models agree.
//
// Steps are timed on one batch of the data, in blocks that alternate between the models, so that
// whatever else the machine does meets all of them alike; the input pipeline has no part in it.
// Shown are medians of the blocks and the middle half of them. The models stay as they are, bit for
// bit, compiled or not.
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
  // Of a training step against that of the first model, as it was predicted (predict_speedup, or
  // the doctor). The comparison says how far off it was.
  std::optional<double> predicted_speedup = {};
};

struct CompareOptions {
  // Of steps that are timed, made of the rows of the first batch; empty: as many as that one has.
  std::optional<int64_t> batch_size = {};
  double seconds = 4;            // about, for all timing together; 0: nothing is timed
  bool training = true;          // also time training steps, of models with weights that train
  Optimizer optimizer = "adam";  // of those steps; a new one of its kind for each model
  // Empty: what each model was compiled with; a model that is not compiled takes those of the first
  // that is. Without any loss there are neither metrics nor training steps.
  LossList loss = {};
  std::vector<Metric> metrics = {};
  std::optional<int64_t> steps = {};  // batches that are evaluated; empty: all of the data
  Context* context = nullptr;         // null: the default one
};

// Of steps: the median of the blocks, and the middle half of them. 0: not timed.
struct StepTime {
  double seconds = 0, low = 0, high = 0;
  double samples_per_second = 0;
  // How many times as fast as the first model: the geometric mean of the ratios of neighbouring
  // blocks, with its 95 % interval.
  double speedup = 0, speedup_low = 0, speedup_high = 0;
  // FLOPs per second, of what the device reaches at best; 0: too little time to measure that (one
  // second of CompareOptions::seconds).
  double device_share = 0;
};

struct ModelFigures {
  std::string name;
  int64_t parameters = 0;
  double zero_share = 0;   // of the parameters
  int64_t file_bytes = 0;  // without optimiser; 0: the model cannot be saved
  double flops = 0;        // of a forward pass of one sample
  int64_t training_bytes = 0, inference_bytes = 0;  // memory of a step, at most; 0: not known
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
  // One page without any other file, a section of the doctor's.
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
