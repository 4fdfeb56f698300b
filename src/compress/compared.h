// Parts of compare(): a model as it is compared, and what is measured of it.
#pragma once

#include <string>
#include <vector>

#include <stoker/compare.h>
#include <nlohmann/json_fwd.hpp>

#include "train/model/model_base.h"
#include "train/model/state_snapshot.h"

namespace stoker::compress {

// The layers and weights of a model under a trainer of its own, so that the model itself does not
// change. Compiled if a loss is known.
Model view_of(const Model& model, const CompareOptions& options, const Model* settings);
// The first model with a loss; null: none.
const Model* first_compiled(const std::vector<ComparedModel>& models);

// ShapeError or ValueError, naming both models.
void check_comparable(const std::vector<ComparedModel>& models);

// How models decide, over batches.
class Agreement {
 public:
  Agreement(const Model& first, size_t models);
  // One list of outputs per model.
  void add(const std::vector<std::vector<Tensor>>& outputs);
  std::vector<std::vector<double>> result() const;
  const char* kind() const;

 private:
  enum class Kind : uint8_t { classes, labels, numbers };
  struct Moments {
    double count = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
  };
  void add_pair(Moments& sums, size_t output, const Tensor& a, const Tensor& b) const;

  size_t models_;
  std::vector<Kind> kinds_;                              // one per output
  std::vector<double> thresholds_;                       // of labels
  std::vector<std::vector<std::vector<Moments>>> sums_;  // output, model, model
};

// Times steps of views in alternating blocks, and fills in the figures.
struct TimedStep {
  ModelBase* model;
  ModelFigures* figures;
};
void time_training(const std::vector<TimedStep>& steps, std::vector<Tensor> batch, double seconds);
void time_inference(const std::vector<TimedStep>& steps, std::vector<Tensor> inputs,
                    double seconds);

nlohmann::json comparison_json(const Comparison& comparison);

}  // namespace stoker::compress
