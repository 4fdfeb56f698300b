// Metrics, by Keras's names. A Metric keeps a few sums as variables on the device; every step adds
// to them as part of its graph, and result() reads them when somebody asks. A name is a Metric too:
// "accuracy" becomes binary, categorical or sparse categorical accuracy by the shapes of targets
// and predictions, as in Keras.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

struct MetricOptions {
  std::string name = "";    // shown instead of the default name
  std::string output = "";  // the model output it is for; empty: every output
};

class Metric {
 public:
  Metric(const char* name) : Metric(std::string(name)) {}
  Metric(const std::string& name);  // ValueError lists the names
  Metric(std::string kind, Attrs config, MetricOptions options = {});
  // An own metric from ops: one float32 value a sample, averaged. load_model takes it from
  // custom_objects, by its name.
  Metric(std::string name, std::function<Value(const Value& y_true, const Value& y_pred)> function);

  const std::string& name() const;    // "accuracy"
  const std::string& output() const;  // "" or a model output's name
  const std::string& kind() const;
  const Attrs& config() const;
  bool custom() const;  // it is the user's own code, which a file can only name

  // Emits the update of the sums into the graph of y_pred. sample_weight [B] may be undefined.
  void update(const Value& y_true, const Value& y_pred, const Value& sample_weight = {}) const;
  double result() const;  // reads the device
  void reset() const;
  const std::vector<Variable>& state() const;
  // A metric of the same kind with sums of its own (training and validation, several outputs).
  Metric clone() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

Metric Accuracy(const MetricOptions& options = {});
Metric SparseCategoricalAccuracy(const MetricOptions& options = {});
Metric CategoricalAccuracy(const MetricOptions& options = {});
Metric BinaryAccuracy(double threshold = 0.5, const MetricOptions& options = {});
Metric TopKCategoricalAccuracy(int k = 5, const MetricOptions& options = {});
Metric SparseTopKCategoricalAccuracy(int k = 5, const MetricOptions& options = {});
Metric Precision(double threshold = 0.5, const MetricOptions& options = {});
Metric Recall(double threshold = 0.5, const MetricOptions& options = {});
Metric MeanSquaredErrorMetric(const MetricOptions& options = {});
Metric MeanAbsoluteErrorMetric(const MetricOptions& options = {});

}  // namespace stoker
