// Runs a plan: calls the steps' layers, or what stands for them, on new inputs.
#pragma once

#include <map>
#include <string>

#include "compress/quant_plan.h"

namespace stoker::compress {

class PlanWalk {
 public:
  virtual ~PlanWalk() = default;
  // The layer to call in place of one of the model's.
  virtual Layer layer_for(const Layer& old, const std::string& path) = 0;
  virtual Variable weight_for(const Variable& old) = 0;

  Value& at(int edge) { return values_[edge]; }
  bool has(int edge) const { return values_.contains(edge); }
  Value operand(const Operand& operand);
  // Calls the layers or op of a step as the model does; its outputs become the edges' values.
  void call(const Step& step);

 protected:
  std::map<int, Value> values_;
};

}  // namespace stoker::compress
