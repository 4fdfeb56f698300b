// Losses, by Keras's names and defaults. A Loss is a value; its name is one too ("mse",
// "sparse_categorical_crossentropy", …). Crossentropies on the output of softmax or sigmoid are
// computed from the logits behind it, never from a rounded probability.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stoker/attrs.h>
#include <stoker/value.h>

namespace stoker {

// How the losses of the elements become one number:
//   sum_over_batch_size, mean   the mean over all elements
//   sum
//   mean_with_sample_weight     the sum divided by the sum of the sample weights, where there are
//                               any; else the mean
//   none                        they stay as they are, [B, ..]: for own loops; compile() refuses it
struct LossOptions {
  std::string reduction = "sum_over_batch_size";
};

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
  // ValueError for an unknown reduction.
  Loss(std::string name, Function function, const LossOptions& options = {});

  bool defined() const { return !kind_.empty(); }
  // float32 [B]: one loss per sample.
  Value per_sample(const Value& y_true, const Value& y_pred) const;
  // float32 [B, ..], Keras's losses before their reduction: one per class id, pixel or token; where
  // values are predicted, the mean over the last axis.
  Value per_element(const Value& y_true, const Value& y_pred) const;
  // One number, by the reduction: the mean over all elements by default.
  // `sample_weight`, which may be undefined, multiplies the elements first (the mean is not divided
  // by the sum of weights): [B] for one weight per sample, or the elements' shape, where extents
  // may be 1. Where the predictions carry a mask, only the elements that count do.
  Value operator()(const Value& y_true, const Value& y_pred, const Value& sample_weight = {}) const;

  // What the targets of a prediction of this spec look like: for checks before the first step.
  TensorSpec target_spec(const TensorSpec& prediction, const TensorSpec& given) const;

  const std::string& kind() const { return kind_; }  // "SparseCategoricalCrossentropy"
  const Attrs& config() const { return config_; }
  std::string reduction() const;
  bool custom() const { return function_ != nullptr; }

 private:
  Value values(const Value& y_true, const Value& y_pred) const;  // not averaged
  Value averaged_last(const Value& values) const;
  Value reduced(const Value& losses, const Value& mask, const Value& sample_weight) const;
  Value weighted_whole(const Value& loss, const Value& sample_weight) const;
  Value masked(const Value& losses, const Value& mask, const Value& sample_weight) const;

  std::string kind_;
  Attrs config_;
  Function function_;
};

// --- classes and probabilities ---------------------------------------------------------------

// `axis` is the axis of the classes; where every value is a class of its own, the one that is
// averaged. It cannot be the batch's.
struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
};
struct SparseCrossentropyOptions {
  bool from_logits = false;
  // Targets of this id, such as -1 or 255, do not count; other ids that are no class give NaN.
  std::optional<int64_t> ignore_class = {};
  std::string reduction = "sum_over_batch_size";
  int64_t axis = -1;
};
Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options = {});
Loss CategoricalCrossentropy(const CrossentropyOptions& options = {});
Loss BinaryCrossentropy(const CrossentropyOptions& options = {});

struct BinaryFocalCrossentropyOptions {
  bool apply_class_balancing = false;
  double alpha = 0.25;  // of class 1 where classes are balanced; 1 - alpha is that of class 0
  double gamma = 2.0;   // how much easy samples are played down
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
};
struct CategoricalFocalCrossentropyOptions {
  std::vector<double> alpha = {0.25};  // one for all classes, or one per class
  double gamma = 2.0;
  bool from_logits = false;
  double label_smoothing = 0.0;
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
};
Loss BinaryFocalCrossentropy(const BinaryFocalCrossentropyOptions& options = {});
Loss CategoricalFocalCrossentropy(const CategoricalFocalCrossentropyOptions& options = {});
// (1 - p^q) / q of the true class's probability p, q in (0, 1): for class ids that may be wrong.
Loss CategoricalGeneralizedCrossEntropy(double q = 0.5, const LossOptions& options = {});

Loss KLDivergence(const LossOptions& options = {});  // Σ y · log(y / p) over the last axis
Loss Poisson(const LossOptions& options = {});       // p - y · log p
// Labels [B, L], padded with 0, which is the blank; logits [B, T, classes].
Loss CTC(const LossOptions& options = {});

// --- numbers ---------------------------------------------------------------------------------

Loss MeanSquaredError(const LossOptions& options = {});
Loss MeanAbsoluteError(const LossOptions& options = {});
Loss MeanAbsolutePercentageError(const LossOptions& options = {});
Loss MeanSquaredLogarithmicError(const LossOptions& options = {});
Loss LogCosh(const LossOptions& options = {});
Loss Huber(double delta = 1.0, const LossOptions& options = {});

struct CosineSimilarityOptions {
  int64_t axis = -1;
  std::string reduction = "sum_over_batch_size";
};
// -1 where targets and predictions point the same way, 1 where they point opposite ways.
Loss CosineSimilarity(const CosineSimilarityOptions& options = {});

// --- margins, overlaps, embeddings -------------------------------------------------------------

// Targets are -1 or 1; where all are 0 or 1, 0 stands for -1.
Loss Hinge(const LossOptions& options = {});
Loss SquaredHinge(const LossOptions& options = {});
Loss CategoricalHinge(const LossOptions& options = {});  // one-hot targets

// 1 - the overlap of targets and predictions, summed over `axis`; {}: over the whole batch, whose one
// loss the sample weights multiply by their mean.
struct DiceOptions {
  std::string reduction = "sum_over_batch_size";
  std::vector<int64_t> axis = {};
};
struct TverskyOptions {
  double alpha = 0.5;  // weight of what is predicted too little
  double beta = 0.5;   // weight of what is predicted too much
  std::string reduction = "sum_over_batch_size";
  std::vector<int64_t> axis = {};
};
Loss Dice(const DiceOptions& options = {});
Loss Tversky(const TverskyOptions& options = {});

// Predictions are embeddings [B, E] of length 1, targets class ids [B]: pulls embeddings of one
// class together. Samples without a partner in the batch do not count.
struct CircleOptions {
  double gamma = 80.0;
  double margin = 0.4;
  bool remove_diagonal = true;  // a sample is no partner of its own
  std::string reduction = "sum_over_batch_size";
};
Loss Circle(const CircleOptions& options = {});

// The same as functions for own training loops: one number, by the reduction. Targets are aligned
// with the predictions; shapes that do not fit are a ShapeError.
Value sparse_categorical_crossentropy(const Value& y_true, const Value& y_pred,
                                      const SparseCrossentropyOptions& options = {});
Value categorical_crossentropy(const Value& y_true, const Value& y_pred,
                               const CrossentropyOptions& options = {});
Value binary_crossentropy(const Value& y_true, const Value& y_pred,
                          const CrossentropyOptions& options = {});
Value binary_focal_crossentropy(const Value& y_true, const Value& y_pred,
                                const BinaryFocalCrossentropyOptions& options = {});
Value categorical_focal_crossentropy(const Value& y_true, const Value& y_pred,
                                     const CategoricalFocalCrossentropyOptions& options = {});
Value categorical_generalized_cross_entropy(const Value& y_true, const Value& y_pred,
                                            double q = 0.5);
Value kl_divergence(const Value& y_true, const Value& y_pred);
Value poisson(const Value& y_true, const Value& y_pred);
Value ctc(const Value& y_true, const Value& y_pred);
Value mean_squared_error(const Value& y_true, const Value& y_pred);
Value mean_absolute_error(const Value& y_true, const Value& y_pred);
Value mean_absolute_percentage_error(const Value& y_true, const Value& y_pred);
Value mean_squared_logarithmic_error(const Value& y_true, const Value& y_pred);
Value log_cosh(const Value& y_true, const Value& y_pred);
Value huber(const Value& y_true, const Value& y_pred, double delta = 1.0);
Value cosine_similarity(const Value& y_true, const Value& y_pred,
                        const CosineSimilarityOptions& options = {});
Value hinge(const Value& y_true, const Value& y_pred);
Value squared_hinge(const Value& y_true, const Value& y_pred);
Value categorical_hinge(const Value& y_true, const Value& y_pred);
Value dice(const Value& y_true, const Value& y_pred, const DiceOptions& options = {});
Value tversky(const Value& y_true, const Value& y_pred, const TverskyOptions& options = {});
Value circle(const Value& y_true, const Value& y_pred, const CircleOptions& options = {});

}  // namespace stoker
