// Losses, their weights and metrics as Model::compile() takes them: for every output, one for each, or
// by the names of outputs. model.h includes this header.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <stoker/losses.h>
#include <stoker/metrics.h>

namespace stoker {

// One loss for every output, a list with one for each, or losses by the names of outputs:
//   .loss = "mse"    .loss = {"mse", "binary_crossentropy"}    .loss = {{"age", "mse"}}
// {"mse"} is a list, for models of one output. Loss() in a list, and an output that is not among the
// names, stand for an output without a loss, which takes no target.
class LossList {
 public:
  // A loss, of a named output or of the next one.
  class Item {
   public:
    Item(const char* name) : loss_(name) {}
    Item(const std::string& name) : loss_(name) {}
    Item(const Loss& loss) : loss_(loss) {}
    Item(std::string output, const Loss& loss) : output_(std::move(output)), loss_(loss) {}
    const std::string& output() const { return output_; }
    const Loss& loss() const { return loss_; }

   private:
    std::string output_;
    Loss loss_;
  };
  LossList() = default;
  LossList(const char* name) : LossList(Loss(name)) {}
  LossList(const std::string& name) : LossList(Loss(name)) {}
  LossList(const Loss& loss) : list_{loss}, for_every_output_(true) {}
  LossList(std::vector<Loss> losses) : list_(std::move(losses)) {}
  LossList(std::initializer_list<Item> losses) {
    for (const Item& item : losses) add(item);
  }
  LossList(const std::map<std::string, Loss>& losses) {
    for (const auto& [output, loss] : losses) add({output, loss});
  }
  const std::vector<Loss>& list() const { return list_; }
  // Of the losses' outputs, one for each; empty: in the order of the outputs.
  const std::vector<std::string>& names() const { return names_; }
  bool for_every_output() const { return for_every_output_; }

 private:
  void add(const Item& item) {
    list_.push_back(item.loss());
    if (!item.output().empty()) names_.push_back(item.output());
  }
  std::vector<Loss> list_;
  std::vector<std::string> names_;
  bool for_every_output_ = false;
};

// One weight for each output, or weights by the names of outputs: {0.5, 1} or {{"age", 0.5}}.
// Outputs that are not among the names weigh 1.
class LossWeights {
 public:
  using Named = std::pair<std::string, double>;
  LossWeights() = default;
  LossWeights(std::vector<double> weights) : list_(std::move(weights)) {}
  LossWeights(std::initializer_list<double> weights) : list_(weights) {}
  LossWeights(std::initializer_list<Named> weights) : LossWeights(std::vector<Named>(weights)) {}
  LossWeights(const std::map<std::string, double>& weights)
      : LossWeights(std::vector<Named>(weights.begin(), weights.end())) {}
  explicit LossWeights(const std::vector<Named>& weights) {
    for (const auto& [output, weight] : weights) names_.push_back(output), list_.push_back(weight);
  }
  const std::vector<double>& list() const { return list_; }
  const std::vector<std::string>& names() const { return names_; }  // of outputs; empty: no names
  bool empty() const { return list_.empty(); }

 private:
  std::vector<double> list_;
  std::vector<std::string> names_;
};

// Metrics of every output, or metrics by the names of outputs:
//   .metrics = {"mae", "mse"}    .metrics = {{"age", "mae"}, {"kind", {"accuracy", AUC()}}}
class MetricList {
 public:
  // One metric or several.
  class OfOutput {
   public:
    OfOutput(const char* name) : list_{Metric(name)} {}
    OfOutput(const std::string& name) : list_{Metric(name)} {}
    OfOutput(const Metric& metric) : list_{metric} {}
    OfOutput(std::vector<Metric> metrics) : list_(std::move(metrics)) {}
    OfOutput(std::initializer_list<Metric> metrics) : list_(metrics) {}
    const std::vector<Metric>& list() const { return list_; }

   private:
    std::vector<Metric> list_;
  };
  using Named = std::pair<std::string, OfOutput>;
  MetricList() = default;
  MetricList(std::vector<Metric> metrics) : list_(std::move(metrics)) {}
  MetricList(std::initializer_list<Metric> metrics) : list_(metrics) {}
  MetricList(std::initializer_list<Named> metrics) { add(metrics); }
  MetricList(const std::map<std::string, OfOutput>& metrics) { add(metrics); }
  // Each for every output, or for its own: Metric::output().
  const std::vector<Metric>& list() const { return list_; }
  bool empty() const { return list_.empty(); }
  void push_back(const Metric& metric) { list_.push_back(metric); }

 private:
  template <class List>
  void add(const List& metrics) {
    for (const auto& [output, some] : metrics)
      for (const Metric& metric : some.list()) list_.push_back(metric.with({.output = output}));
  }
  std::vector<Metric> list_;
};

}  // namespace stoker
