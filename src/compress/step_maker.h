// Makes the steps of a plan: walks a model's nodes, opens models inside of it, says of every layer
// and op which kind of step it is, and divides layers that are several steps.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compress/quant_plan.h"
#include "train/model/model_base.h"

namespace stoker::compress {

class StepMaker {
 public:
  StepMaker(QuantPlan& plan, const PlanRequest& request) : plan_(plan), request_(request) {}

  // Adds the steps of a model whose inputs are the edges `given`; returns the edges of its outputs.
  std::vector<int> open(const ModelBase& model, const std::string& prefix,
                        const std::vector<int>& given);
  int new_edge(const TensorSpec& spec, std::string name, int maker);

 private:
  using Place = std::pair<const SketchNode*, int>;
  using Places = std::map<Place, int>;
  using Parts = std::vector<Layer>;

  static Place place(const Value& value);
  static Operand operand(const Value& value, const Places& there);
  const TensorSpec& spec(const Operand& operand) const;
  void add(const SketchNode& node, Places& there, const std::string& prefix);
  std::vector<int> append(Step step, const std::vector<TensorSpec>& specs);
  std::vector<int> push(Step step, const std::vector<TensorSpec>& specs);
  Value sketched_like(const Operand& operand) const;

  // --- step_kinds.cpp: of which kind a step is ---
  void classify_layer(Step& step, const LayerCall& call);
  void classify_add(Step& step) const;
  void classify_multiply(Step& step) const;
  void classify_op(Step& step, const SketchOp& op) const;

  // --- step_parts.cpp: layers that are several steps ---
  void product(Step& step);
  void separable(Step& step);
  // Layers that do together what one does; the same for every call of it.
  const Parts& parts_of(const Layer& whole, const std::function<Parts(const Layer&)>& make);
  void follow(Step& step, const Parts& parts);

  QuantPlan& plan_;
  const PlanRequest& request_;
  std::map<const LayerBase*, Parts> parts_;
  Parts rest_;  // of the layer that is being added
};

}  // namespace stoker::compress
