// How much each sample counts: its own weight, times the weight of its class.
#pragma once

#include <map>
#include <string>

#include <stoker/tensor.h>

namespace stoker {

class ClassWeights {
 public:
  // `classes`: how many there are; ValueError, beginning with `action`, for a key outside [0,
  // classes) or a weight that is negative or not finite.
  ClassWeights(const std::map<int64_t, double>& weights, int64_t classes,
               const std::string& action);

  // float32 [rows]: one weight a row of y (class ids, or one-hot rows), times `sample_weight` where
  // it is defined. A class id out of range is left to the step, which names it.
  Tensor of(const Tensor& y, const Tensor& sample_weight) const;

 private:
  std::vector<float> table_;
};

// As float32 [rows].
Tensor as_row_weights(const Tensor& sample_weight);

}  // namespace stoker
