// A model as the steps that quantisation thinks in: models inside of models are opened, a layer's
// activation is a step of its own, batch normalisation and relu belong to the product before them.
// Says which steps run in int8 and which activations share a scale. docs/design/030 has the idea.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/quantize.h>

#include "compress/quant_kinds.h"
#include "graph/sketch.h"
#include "nn/layer_call.h"

namespace stoker::compress {

enum class StepKind : uint8_t {
  product,     // Dense and convolutions: always worth int8
  batch_norm,  // one that no product has taken: a factor and a term per channel
  add,
  multiply,
  activation,  // any function of one number
  mean_pool,
  max_pool,  // from here to `nothing` codes are chosen or moved: one scale before and behind
  concat,
  padding,
  move,
  nothing,  // of predictions: dropout
  other,    // float only
};

// An operand of a step: a value of the plan, or one that is none: a variable, a constant.
struct Operand {
  int edge = -1;
  Value value = {};
};

struct Step {
  StepKind kind = StepKind::other;
  std::string path;  // of the layer, behind those of the models around it; of an op: its name
  Layer layer = {};  // undefined: an op
  const SketchNode* node = nullptr;
  std::vector<Operand> inputs;  // of a layer: without masks
  std::vector<Operand> masks;
  std::vector<int> outputs;  // edges
  std::string reason;        // kind other: why

  // Of products, adds and multiplies: what follows as part of the step.
  Layer batch_norm = {};
  std::string batch_norm_path;
  Layer activation = {};
  std::string activation_path;
  std::optional<Clip> clip = {};  // the activation, where it is a relu

  bool taken = false;  // part of another step
  bool int8 = false;
};

struct EdgeInfo {
  TensorSpec spec;
  std::string name;  // of the layer or input that makes it
  int maker = -1;    // a step; -1: an input of the model
  std::vector<int> readers;
  bool is_output = false;
  int group = -1;       // of edges that share a scale: the first of them
  bool stored = false;  // has a form in eight bits
};

struct PlanRequest {
  std::vector<std::string> layers, exclude;
  const char* action = "quantize";
  bool only_aware = false;  // only the products that were trained for it
};

class QuantPlan {
 public:
  // ValueError for a name that no layer has, or a layer of `layers` that cannot be int8.
  QuantPlan(const Model& model, const PlanRequest& request);

  const Values& inputs() const { return inputs_; }  // of the model
  const std::vector<std::string>& input_names() const { return input_names_; }
  const std::vector<int>& output_edges() const { return outputs_; }
  const std::vector<Step>& steps() const { return steps_; }
  std::vector<Step>& steps() { return steps_; }
  const std::vector<EdgeInfo>& edges() const { return edges_; }
  int group_of(int edge) const;
  // How many steps call the layer.
  int64_t calls_of(const Layer& layer) const;
  const std::vector<KeptInFloat>& in_float() const { return in_float_; }

 private:
  friend class StepMaker;
  void link();
  void take_followers();
  void choose(const PlanRequest& request);
  void unite_scales();
  void unite(int a, int b);
  bool follows_alone(int edge) const;

  Values inputs_;
  std::vector<std::string> input_names_;
  std::vector<Step> steps_;
  std::vector<EdgeInfo> edges_;
  std::vector<int> outputs_;
  std::vector<KeptInFloat> in_float_;
};

}  // namespace stoker::compress
