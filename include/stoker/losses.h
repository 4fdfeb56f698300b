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
  Loss(const std::string& name);                // ValueError lists the names
  Loss(const std::string& kind, Attrs config);  // ValueError for an unknown kind, option or value
  // An own loss from ops. Targets come aligned with the predictions as in Keras: [B] beside [B, 1]
  // becomes [B, 1], and targets of the predictions' shape are float32. It returns one loss per
  // sample, [B], per element, [B, ..], or one for the batch, a scalar; ShapeError for anything
  // else. load_model takes it from custom_objects, by its name.
  Loss(std::string name, Function function)
      : kind_(std::move(name)), function_(std::move(function)) {}

  bool defined() const { return !kind_.empty(); }
  // float32 [B]: one loss per sample.
  Value per_sample(const Value& y_true, const Value& y_pred) const;
  // float32 [B, ..], Keras's losses before their reduction: one per class id, pixel or token; where
  // values are predicted, the mean over the last axis.
  Value per_element(const Value& y_true, const Value& y_pred) const;
  // The mean over all elements, a scalar. `sample_weight`, which may be undefined, multiplies the
  // elements first (the mean is not divided by the sum of weights): [B] for one weight per sample,
  // or the elements' shape, where extents may be 1. Where the predictions carry a mask, it is the
  // mean over the elements that count.
  Value operator()(const Value& y_true, const Value& y_pred, const Value& sample_weight = {}) const;

  // What the targets of a prediction of this spec look like: for checks before the first step.
  TensorSpec target_spec(const TensorSpec& prediction, const TensorSpec& given) const;

  const std::string& kind() const { return kind_; }  // "SparseCategoricalCrossentropy"
  const Attrs& config() const { return config_; }
  bool custom() const { return function_ != nullptr; }

 private:
  Value values(const Value& y_true, const Value& y_pred) const;  // not averaged
  Value averaged_last(const Value& values) const;
  Value masked(const Value& losses, const Value& mask, const Value& sample_weight) const;

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

// The same as functions for own training loops: the mean over the batch, a scalar. Targets are
// aligned with the predictions; shapes that do not fit are a ShapeError.
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
