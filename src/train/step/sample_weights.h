// How much each sample, or each pixel or token of it, counts: its own weight, times the weight of
// its class.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <stoker/losses.h>
#include <stoker/tensor.h>

namespace stoker {

class ClassWeights {
 public:
  // `prediction`: the shape of the model's output, whose last axis holds the classes. ValueError,
  // beginning with `action`, for a class that does not exist or a weight that is negative or not
  // finite.
  ClassWeights(const std::map<int64_t, double>& weights, const Loss& loss, const Shape& prediction,
               const std::string& action);

  // float32: one weight for each class id of y, or each one-hot row, times `sample_weight` where it
  // is defined. y: class ids or 0 and 1, [N, ..] or [N, .., 1], or one-hot, [N, .., C]. ValueError
  // for targets that name no class, or several; ids that the loss ignores weigh 1.
  Tensor of(const Tensor& y, const Tensor& sample_weight) const;

 private:
  bool one_hot(const Shape& y) const;
  Shape element_shape(const Shape& y) const;
  Tensor class_ids(const Tensor& y) const;  // -1: ignored
  void fail(const std::string& what) const;

  std::string action_;
  Shape prediction_;
  bool soft_;                       // one-hot rows may be probabilities: the largest one counts
  std::optional<int64_t> ignored_;  // the loss's ignore_class: no class, and weighs 1
  std::vector<float> table_;
};

// As float32, and as [N] where there is one weight per sample.
Tensor as_weights(const Tensor& sample_weight);

}  // namespace stoker
