// Metrics, by Keras's names. A Metric keeps a few sums as variables on the device; every step adds
// to them as part of its graph, and result() reads them on demand. A name is a Metric too:
// "accuracy" becomes binary, categorical or sparse categorical accuracy by the shapes of targets
// and predictions, as in Keras.
//
// An own metric is a function of ops, averaged over the samples, or a class with state:
//
//   class LargestError : public MetricBase {
//    public:
//     LargestError() : largest_(add_variable("largest")) {}
//     std::string kind() const override { return "LargestError"; }
//     void update_state(const Value& y_true, const Value& y_pred, const Value&) override {
//       Value error = ops::max(ops::abs(y_true - y_pred));
//       assign(largest_, ops::maximum(current(largest_), error));
//     }
//     double result() const override { return largest_.read().item(); }
//
//    private:
//     Variable largest_;
//   };
//   model.compile({.loss = "mse", .metrics = {make_metric<LargestError>()}});
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/initializers.h>
#include <stoker/value.h>

namespace stoker {

struct MetricOptions {
  std::string name = "";    // shown instead of the default name
  std::string output = "";  // the model output it is for; empty: every output
};

struct MetricVariableOptions {
  Initializer initializer = "zeros";  // reset_state() goes back to it
  DType dtype = DType::float32;
};

// What a metric with state is made of. update_state() runs once per graph, never per step: it emits
// ops. Everything else runs on the host.
class MetricBase {
 public:
  virtual ~MetricBase() = default;
  virtual std::string kind() const = 0;        // the class's name: "LargestError"
  virtual Attrs config() const { return {}; }  // what it was constructed with, for files
  // Makes the variables whose shapes depend on that of the predictions, [B, ..]. Runs once, before
  // the first update_state(); in a compiled model before training, so that checkpoints keep them.
  virtual void build(const Shape& predictions) { (void)predictions; }

  // Emits the update of the variables. Targets come aligned as for an own Loss. sample_weight is
  // undefined where there is none. Where the predictions carry a mask (layer.h), what is masked
  // weighs 0; without weights it is the mask itself, of bools.
  virtual void update_state(const Value& y_true, const Value& y_pred,
                            const Value& sample_weight) = 0;
  virtual double result() const = 0;  // from the variables' contents: variable.read()
  // One per class or threshold, where the metric has several; result() is their mean then.
  virtual std::vector<double> results() const { return {result()}; }
  virtual void reset_state();  // every variable as it began
  const std::vector<Variable>& variables() const { return variables_; }

 protected:
  // For constructors and build(): checkpoints keep what exists before the first step. Error later.
  Variable add_variable(const std::string& name, const Shape& shape = {},
                        const MetricVariableOptions& options = {});
  // The variable's value as of here: what an earlier assign() gave it, else its contents.
  Value current(const Variable& variable) const;
  // After the step the variable holds the value, cast to its dtype, or that much more.
  void assign(const Variable& variable, const Value& value) const;
  void assign_add(const Variable& variable, const Value& value) const;
  // float32 of the values' shape: the weights of [B, ..] values, 1 where there are none. ShapeError
  // for weights that do not fit.
  Value weights_of(const Value& values, const Value& sample_weight) const;

 private:
  friend class Metric;
  std::vector<Variable> variables_;
  std::vector<Tensor> initial_;
  bool complete_ = false;  // the constructor, or build(), has ended
};

class Metric {
 public:
  using Function = std::function<Value(const Value& y_true, const Value& y_pred)>;
  using Factory = std::function<std::unique_ptr<MetricBase>()>;

  Metric(const char* name) : Metric(std::string(name)) {}
  Metric(const std::string& name);  // ValueError lists the names
  // ValueError for an unknown kind, option or value.
  Metric(const std::string& kind, Attrs config, MetricOptions options = {});
  // An own metric from ops: one value per sample or element, averaged. Targets come aligned as for
  // an own Loss. load_model takes it from custom_objects, by its name.
  Metric(std::string name, Function function);
  // An own metric with state: see make_metric. Called once for each clone.
  explicit Metric(Factory factory, MetricOptions options = {});

  const std::string& name() const;    // "accuracy"
  const std::string& output() const;  // "" or a model output's name
  const std::string& kind() const;
  const Attrs& config() const;
  bool custom() const;  // a function or class of the user's, which a file can only name
  // A clone with another name or for one output; what is empty stays as it is.
  Metric with(const MetricOptions& options) const;

  // Emits the update of the sums into the graph of y_pred. sample_weight may be undefined, [B], or
  // one weight per element of the predictions, without their last axis or with it. What a mask of
  // y_pred leaves out does not count; values that an own function gives per sample or batch do.
  void update(const Value& y_true, const Value& y_pred, const Value& sample_weight = {}) const;
  // The same without targets, for Mean and Sum in own loops: of the losses of a step, for example.
  void add(const Value& values, const Value& sample_weight = {}) const;
  double result() const;  // reads the device
  // One per class or threshold, where the metric has several (F1Score, Precision with several
  // thresholds, …); else result() alone.
  std::vector<double> results() const;
  // Makes the variables that depend on the predictions' shape, [B, ..]; update() does it if need be.
  void build(const Shape& predictions) const;
  void reset() const;
  const std::vector<Variable>& state() const;
  // A metric of the same kind with sums of its own (training and validation, several outputs).
  Metric clone() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// An own metric with state: M(args…), constructed anew for training, validation and each output.
template <class M, class... Args>
Metric make_metric(Args... args) {
  return Metric(Metric::Factory(
      [=]() -> std::unique_ptr<MetricBase> { return std::make_unique<M>(args...); }));
}

Metric Accuracy(const MetricOptions& options = {});
Metric SparseCategoricalAccuracy(const MetricOptions& options = {});
Metric CategoricalAccuracy(const MetricOptions& options = {});
Metric BinaryAccuracy(double threshold = 0.5, const MetricOptions& options = {});
Metric TopKCategoricalAccuracy(int k = 5, const MetricOptions& options = {});
Metric SparseTopKCategoricalAccuracy(int k = 5, const MetricOptions& options = {});
Metric Precision(double threshold = 0.5, const MetricOptions& options = {});
Metric Recall(double threshold = 0.5, const MetricOptions& options = {});
// confusion_metrics.h has these with all options, and AUC, F1Score, MeanIoU, ….

// Of the predictions; in an own loop of anything: metric.add(values).
Metric Mean(const MetricOptions& options = {});
Metric Sum(const MetricOptions& options = {});

// --- losses as metrics: their means over all samples -----------------------------------------

Metric MeanSquaredErrorMetric(const MetricOptions& options = {});
Metric MeanAbsoluteErrorMetric(const MetricOptions& options = {});
Metric MeanAbsolutePercentageErrorMetric(const MetricOptions& options = {});
Metric MeanSquaredLogarithmicErrorMetric(const MetricOptions& options = {});
Metric LogCoshError(const MetricOptions& options = {});
Metric HuberMetric(const MetricOptions& options = {});
Metric KLDivergenceMetric(const MetricOptions& options = {});
Metric PoissonMetric(const MetricOptions& options = {});
Metric HingeMetric(const MetricOptions& options = {});
Metric SquaredHingeMetric(const MetricOptions& options = {});
Metric CategoricalHingeMetric(const MetricOptions& options = {});
struct CrossentropyMetricOptions {
  std::string name = "";
  std::string output = "";
  bool from_logits = false;
  double label_smoothing = 0.0;  // not of the sparse one
  int64_t axis = -1;
};
Metric BinaryCrossentropyMetric(const CrossentropyMetricOptions& options = {});
Metric CategoricalCrossentropyMetric(const CrossentropyMetricOptions& options = {});
Metric SparseCategoricalCrossentropyMetric(const CrossentropyMetricOptions& options = {});

// --- regression ------------------------------------------------------------------------------

Metric RootMeanSquaredError(const MetricOptions& options = {});

struct AxisMetricOptions {
  std::string name = "";
  std::string output = "";
  int64_t axis = -1;
};
// The cosine itself: 1 where both point the same way. The loss of this name is its negative.
Metric CosineSimilarityMetric(const AxisMetricOptions& options = {});
Metric PearsonCorrelation(const AxisMetricOptions& options = {});
Metric ConcordanceCorrelation(const AxisMetricOptions& options = {});

struct R2ScoreOptions {
  std::string class_aggregation = "uniform_average";  // variance_weighted_average; none: results()
  int64_t num_regressors = 0;  // adjusts the score, where there are more samples than that
  std::string name = "";
  std::string output = "";
};
Metric R2Score(const R2ScoreOptions& options = {});  // predictions [B, outputs]

}  // namespace stoker
