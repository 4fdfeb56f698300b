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

  // Emits the update of the variables. Targets come aligned as for an own Loss. sample_weight is
  // undefined where there is none. Where the predictions carry a mask (layer.h), what is masked
  // weighs 0; without weights it is the mask itself, of bools.
  virtual void update_state(const Value& y_true, const Value& y_pred,
                            const Value& sample_weight) = 0;
  virtual double result() const = 0;  // from the variables' contents: variable.read()
  virtual void reset_state();         // every variable as it began
  const std::vector<Variable>& variables() const { return variables_; }

 protected:
  // For constructors: checkpoints keep what exists before the first step. Error later.
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
  bool complete_ = false;  // the constructor has ended
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
  double result() const;  // reads the device
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
Metric MeanSquaredErrorMetric(const MetricOptions& options = {});
Metric MeanAbsoluteErrorMetric(const MetricOptions& options = {});

}  // namespace stoker
