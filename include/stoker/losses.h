// Losses, by Keras's names and defaults. A Loss is a value; its name is one too ("mse",
// "sparse_categorical_crossentropy", …). Crossentropies on the output of softmax or sigmoid are
// computed from the logits behind it, never from a rounded probability.
#pragma once

#include <functional>
#include <string>

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

class Loss {
 public:
  using Function = std::function<Value(const Value& y_true, const Value& y_pred)>;

  Loss() = default;  // none
  Loss(const char* name) : Loss(std::string(name)) {}
  Loss(const std::string& name);  // ValueError lists the names
  Loss(std::string kind, Attrs config) : kind_(std::move(kind)), config_(std::move(config)) {}
  // An own loss from ops: per sample ([B]) or per element (averaged over all but the batch).
  // load_model takes it from custom_objects, by its name.
  Loss(std::string name, Function function)
      : kind_(std::move(name)), function_(std::move(function)) {}

  bool defined() const { return !kind_.empty(); }
  // float32 [B]: one loss a sample.
  Value per_sample(const Value& y_true, const Value& y_pred) const;
  // Σ wᵢ lossᵢ / B, a scalar; `sample_weight` [B] may be undefined.
  Value operator()(const Value& y_true, const Value& y_pred, const Value& sample_weight = {}) const;

  // What the targets of a prediction of this spec look like: for checks before the first step.
  TensorSpec target_spec(const TensorSpec& prediction, const TensorSpec& given) const;

  const std::string& kind() const { return kind_; }  // "SparseCategoricalCrossentropy"
  const Attrs& config() const { return config_; }
  bool custom() const { return function_ != nullptr; }

 private:
  std::string kind_;
  Attrs config_;
  Function function_;
};

struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
};
struct SparseCrossentropyOptions {
  bool from_logits = false;
};
Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options = {});
Loss CategoricalCrossentropy(const CrossentropyOptions& options = {});
Loss BinaryCrossentropy(const CrossentropyOptions& options = {});
Loss MeanSquaredError();
Loss MeanAbsoluteError();
Loss Huber(double delta = 1.0);

// The same as functions for own training loops: the mean over the batch, a scalar.
Value sparse_categorical_crossentropy(const Value& y_true, const Value& y_pred,
                                      const SparseCrossentropyOptions& options = {});
Value categorical_crossentropy(const Value& y_true, const Value& y_pred,
                               const CrossentropyOptions& options = {});
Value binary_crossentropy(const Value& y_true, const Value& y_pred,
                          const CrossentropyOptions& options = {});
Value mean_squared_error(const Value& y_true, const Value& y_pred);
Value mean_absolute_error(const Value& y_true, const Value& y_pred);
Value huber(const Value& y_true, const Value& y_pred, double delta = 1.0);

}  // namespace stoker
