// Weights that a fit is changing. Two models may share layers: what the gate of one model knows,
// the other's does not. Thread-safe.
#pragma once

#include <vector>

#include <stoker/variable.h>

namespace stoker {

class ModelBase;

// Claims weights for a fit, while it lives; Error where another thread's fit has one of them.
class ClaimedWeights {
 public:
  explicit ClaimedWeights(const std::vector<Variable>& weights);
  ~ClaimedWeights();
  ClaimedWeights(const ClaimedWeights&) = delete;
  ClaimedWeights& operator=(const ClaimedWeights&) = delete;

 private:
  std::vector<Variable> claimed_;  // by this one: a fit inside a fit may share weights with it
};

// Error, naming `action`, where a fit of another thread is changing a weight of the model. One
// relaxed load while nothing is claimed.
void check_unclaimed(const ModelBase& model, const char* action);

}  // namespace stoker
