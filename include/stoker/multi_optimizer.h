// Several optimisers, each for some of the weights, as one.
//
//   MultiOptimizer({.default_optimizer = SGD({.learning_rate = 0.1}),
//                   .optimizers = {{"encoder/.*", Adam({.learning_rate = 1e-5})}}})
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stoker/optimizers.h>

namespace stoker {

struct OptimizerMap {
  Optimizer default_optimizer;  // of weights that no expression finds
  // By a regular expression for the whole name of a weight ("encoder/dense/kernel"), or the name
  // itself. A weight that two expressions find is a ValueError.
  std::vector<std::pair<std::string, Optimizer>> optimizers = {};
};

// What is left to all optimisers together.
struct MultiOptimizerOptions {
  LearningRate learning_rate = 1.0;  // times every optimiser's own; callbacks and schedules move it
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "multi_optimizer";
};

// The optimisers give their rules, rates, schedules, weight decay, clipnorm and clipvalue; a state of
// their own they do not keep. Moving averages, accumulation and global_clipnorm are options here: a
// ValueError says so. Files keep everything.
class MultiOptimizer : public Optimizer {
 public:
  explicit MultiOptimizer(const OptimizerMap& map, const MultiOptimizerOptions& options = {});
  // The optimiser of a weight of this name.
  Optimizer at(const std::string& variable) const;

 private:
  OptimizerMap map_;
};

}  // namespace stoker
