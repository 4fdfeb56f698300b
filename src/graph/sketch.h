// The functional API's side of Value: a model drawn before its batch size is known. A sketch node
// is an op or a callable (a layer) applied to values; it is replayed into a Graph when a concrete
// batch size arrives. Immutable; nodes share their inputs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <stoker/value.h>

#include "graph/op.h"

namespace stoker {

// What a layer looks like from here. `apply` emits its ops into the graph of `inputs`.
class Callable {
 public:
  virtual ~Callable() = default;
  virtual Values apply(Graph& graph, const Values& inputs) = 0;
};

struct SketchInput {
  std::string name;
};
struct SketchOp {
  std::string op;
  Attrs attrs;
};

struct SketchNode {
  std::variant<SketchInput, SketchOp, std::shared_ptr<Callable>> what;
  Values inputs;
  std::vector<TensorSpec> outputs;  // dimension 0 is the batch, -1; others may be unknown too
};

// A new model input; `spec` without the batch dimension, -1 for what varies from batch to batch.
// batch: its extent; -1: any.
Value sketch_input(std::string name, const TensorSpec& spec, int64_t batch = -1);
// Whether an extent is (a multiple of) the placeholder that stands for an unknown batch size.
bool is_trial_batch(int64_t extent);
// A message about a trial: "[8191, 784]" → "[None, 784]".
std::string without_trial_batch(std::string text);
// The sketch node of an op; its shapes come from the op's rule at a placeholder batch size.
Values sketch(const OpDef& op, const Values& inputs, Attrs attrs);
// Applies a callable: at once when the inputs are traced, as a sketch node (its shapes found by a
// trial run at a placeholder batch size) when they are sketched.
Values apply(const std::shared_ptr<Callable>& callable, const Values& inputs);
// The callable's output specs, from a graph at the placeholder batch size that is thrown away. Where
// inputs have other unknown dimensions, two graphs that differ in these tell what depends on them.
std::vector<TensorSpec> try_out(Callable& callable, const Values& inputs, bool training);
// The shape of a traced value as a model declares it: in a trial, an input of the callable has its
// unknown dimensions (other than the batch) as -1.
Shape declared_shape(Graph& graph, const Value& value);
// A row's shape with extents in place of the unknown ones, as a trial has them.
Shape with_trial_extents(Shape row);
// All nodes that `outputs` depend on, every node after its inputs.
std::vector<std::shared_ptr<const SketchNode>> topological(const Values& outputs);
// Emits a sketch into a graph: `inputs[i]` is the traced value of the sketched `placeholders[i]`.
Values replay(Graph& graph, const Values& placeholders, const Values& inputs,
              const Values& outputs);

}  // namespace stoker
