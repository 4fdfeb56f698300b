#include "graph/sketch.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/operands.h"
#include "graph/placement.h"

namespace stoker {

namespace {

using NodePointer = std::shared_ptr<const SketchNode>;
using Output = std::pair<const SketchNode*, int>;
using Known = std::map<Output, Value>;  // traced values of sketched ones

Output output_of(const Value::Sketched& sketched) { return {sketched.node.get(), sketched.output}; }

// The batch size of trials: a prime that no layer has as a width, so that a result tells whether
// its dimension 0 is (a multiple of) the batch. Trials only infer shapes, their size costs nothing.
constexpr int64_t kTrialBatch = 8191;

// What stands for the other unknown dimensions: a trial at each, and what differs between the two
// results is unknown. They divide by 2^7, 3 and 5, so that what is pooled and upsampled again has
// its extent back; constants that a layer makes from them, such as [T, T], stay small.
constexpr std::array<int64_t, 2> kTrialExtents = {1920, 3840};

bool varies(const TensorSpec& spec) {
  return spec.shape.rank() > 0 && !spec.shape.drop_front().is_known();
}

bool varies(const Values& inputs) {
  return std::ranges::any_of(inputs,
                             [](const Value& v) { return v.sketched() && varies(v.spec()); });
}

TensorSpec at_trial(TensorSpec spec, int64_t extent) {
  for (int axis = 0; axis < spec.shape.rank(); ++axis)
    if (spec.shape[axis] == -1) spec.shape.set(axis, axis == 0 ? kTrialBatch : extent);
  return spec;
}

TensorSpec without_trial_batch(TensorSpec spec) {
  if (spec.shape.rank() > 0 && is_trial_batch(spec.shape[0])) spec.shape.set(0, -1);
  return spec;
}

// The specs of two trials, where they agree.
std::vector<TensorSpec> in_common(std::vector<TensorSpec> a, const std::vector<TensorSpec>& b) {
  bool alike = a.size() == b.size();
  for (size_t i = 0; alike && i < a.size(); ++i) alike = a[i].shape.rank() == b[i].shape.rank();
  if (!alike)
    throw ShapeError("the number of outputs or dimensions depends on an unknown dimension");
  for (size_t i = 0; i < a.size(); ++i)
    for (int axis = 0; axis < a[i].shape.rank(); ++axis)
      if (a[i].shape[axis] != b[i].shape[axis]) a[i].shape.set(axis, -1);
  return a;
}

// A message of both trials, with "None" for the numbers in which they differ.
std::string text_in_common(const std::string& a, const std::string& b) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  auto number = [&](const std::string& text, size_t at) {
    size_t end = at;
    while (end < text.size() && digit(text[end])) ++end;
    return text.substr(at, end - at);
  };
  std::string text;
  size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (digit(a[i]) && digit(b[k])) {
      std::string left = number(a, i), right = number(b, k);
      text += left == right ? left : "None";
      i += left.size(), k += right.size();
    } else if (a[i] == b[k]) {
      text += a[i++], ++k;
    } else {
      return a;
    }
  }
  return i == a.size() && k == b.size() ? text : a;
}

// trial(extent) gives specs. What varies is tried twice.
template <class Trial>
std::vector<TensorSpec> tried(bool varies, Trial trial) {
  if (!varies) return trial(kTrialExtents[0]);
  std::vector<TensorSpec> first;
  try {
    first = trial(kTrialExtents[0]);
  } catch (const ShapeError& error) {
    std::string text = error.what();
    try {
      trial(kTrialExtents[1]);
    } catch (const ShapeError& other) {
      text = text_in_common(text, other.what());
    }
    throw ShapeError(text);
  }
  return in_common(std::move(first), trial(kTrialExtents[1]));
}

Values make_node(decltype(SketchNode::what) what, Values inputs, std::vector<TensorSpec> outputs) {
  for (TensorSpec& spec : outputs) spec = without_trial_batch(spec);
  auto node = std::make_shared<const SketchNode>(
      SketchNode{std::move(what), std::move(inputs), std::move(outputs)});
  Values values;
  for (size_t i = 0; i < node->outputs.size(); ++i)
    values.push_back(Value(Value::Sketched{node, int(i)}));
  return values;
}

// Every node after its inputs; the walk ends at what is known.
std::vector<NodePointer> topological(const Values& outputs, const Known& known) {
  struct Visit {
    NodePointer node;
    size_t next_input;
  };
  std::vector<NodePointer> order;
  std::unordered_set<const SketchNode*> seen;
  std::vector<Visit> stack;
  auto enter = [&](const Value& value) {
    const Value::Sketched* sketched = value.sketched();
    if (sketched == nullptr || known.contains(output_of(*sketched))) return;
    if (seen.insert(sketched->node.get()).second) stack.push_back({sketched->node, 0});
  };
  for (const Value& output : outputs) {
    enter(output);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next_input < top.node->inputs.size()) {
        enter(NodePointer(top.node)->inputs[top.next_input++]);
      } else {
        order.push_back(std::move(top.node));
        stack.pop_back();
      }
    }
  }
  return order;
}

// Dtypes meet anew: what is float32 in a sketch may be 16-bit here.
Values emit_op(Graph& graph, const SketchOp& op, const Values& inputs) {
  if (op.op == "cast" && name(inputs[0].dtype()) == op.attrs.get<std::string>("dtype"))
    return inputs;
  // Which axes make which is a question for sketches alone: here all extents are known.
  if (op.op == "reshape" && (op.attrs.has("split") || op.attrs.has("merge")))
    return {emit::reshape(inputs[0], infer(OpRegistry::get().find(op.op), op.attrs,
                                           std::vector{inputs[0].spec()}, "")[0]
                                         .shape)};
  return append(graph, OpRegistry::get().find(op.op), inputs, op.attrs);
}

Values emit_node(Graph& graph, const SketchNode& node, const Values& inputs) {
  if (const auto* op = std::get_if<SketchOp>(&node.what)) return emit_op(graph, *op, inputs);
  if (const auto* callable = std::get_if<std::shared_ptr<Callable>>(&node.what))
    return (*callable)->apply(graph, inputs);
  throw Error(fmt::format("the model's outputs depend on input \"{}\", which was not given",
                          std::get<SketchInput>(node.what).name));
}

}  // namespace

bool is_trial_batch(int64_t extent) { return extent > 0 && extent % kTrialBatch == 0; }

std::string without_trial_batch(std::string text) {
  const std::string opening = "[" + std::to_string(kTrialBatch);
  for (size_t at = text.find(opening); at != std::string::npos; at = text.find(opening, at + 1)) {
    char next = at + opening.size() < text.size() ? text[at + opening.size()] : ' ';
    if (next == ',' || next == ']') text.replace(at, opening.size(), "[None");
  }
  return text;
}

Value sketch_input(std::string name, const TensorSpec& spec, int64_t batch) {
  return make_node(SketchInput{std::move(name)}, {}, {{spec.dtype, spec.shape.prepend(batch)}})[0];
}

Shape with_trial_extents(Shape row) {
  for (int axis = 0; axis < row.rank(); ++axis)
    if (row[axis] == -1) row.set(axis, kTrialExtents[0]);
  return row;
}

Values sketch(const OpDef& op, const Values& inputs, Attrs attrs) {
  auto trial = [&](int64_t extent) {
    std::vector<TensorSpec> specs;
    for (const Value& input : inputs)
      specs.push_back(input.sketched() ? at_trial(input.spec(), extent) : input.spec());
    return infer(op, attrs, specs, "");
  };
  std::vector<TensorSpec> outputs;
  try {
    outputs = tried(varies(inputs), trial);
  } catch (const ShapeError& error) {
    throw ShapeError(without_trial_batch(error.what()));
  }
  return make_node(SketchOp{op.name, std::move(attrs)}, inputs, std::move(outputs));
}

Values apply(const std::shared_ptr<Callable>& callable, const Values& inputs) {
  Graph* graph = graph_of("this layer", inputs);
  if (graph != nullptr) return callable->apply(*graph, place(*graph, inputs));
  std::vector<TensorSpec> outputs = try_out(*callable, inputs, /*training=*/false);
  return make_node(callable, inputs, std::move(outputs));
}

namespace {

struct DeclaredShapes {
  std::map<int, Shape> of;  // by the value id of a stand-in
};

std::vector<TensorSpec> try_at(Callable& callable, const Values& inputs, bool training,
                               int64_t extent) {
  Graph trial;
  trial.set_training(training);
  trial.set_random_state(trial.input("random state", {DType::int64, {2}}));
  Values stand_ins;
  for (const Value& input : inputs) {
    stand_ins.push_back(input.sketched() ? trial.input("trial", at_trial(input.spec(), extent))
                                         : place(trial, input));
    if (input.sketched() && varies(input.spec()))
      trial.notes<DeclaredShapes>().of[stand_ins.back().traced()->id] = input.shape();
  }
  std::vector<TensorSpec> outputs;
  for (const Value& output : callable.apply(trial, stand_ins)) outputs.push_back(output.spec());
  return outputs;
}

}  // namespace

std::vector<TensorSpec> try_out(Callable& callable, const Values& inputs, bool training) {
  return tried(varies(inputs),
               [&](int64_t extent) { return try_at(callable, inputs, training, extent); });
}

Shape declared_shape(Graph& graph, const Value& value) {
  const std::map<int, Shape>& declared = graph.notes<DeclaredShapes>().of;
  auto found = declared.find(value.traced()->id);
  return found == declared.end() ? value.shape() : found->second;
}

std::vector<std::shared_ptr<const SketchNode>> topological(const Values& outputs) {
  return topological(outputs, Known{});
}

Values replay(Graph& graph, const Values& placeholders, const Values& inputs,
              const Values& outputs) {
  if (placeholders.size() != inputs.size())
    throw ValueError(
        fmt::format("a model with {} inputs was given {}", placeholders.size(), inputs.size()));
  Known known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value::Sketched* placeholder = placeholders[i].sketched();
    if (placeholder == nullptr)
      throw Error("replay: a placeholder is not a value of a functional model");
    known[output_of(*placeholder)] = place(graph, inputs[i]);
  }
  auto find = [&](const Value& value) {
    const Value::Sketched* sketched = value.sketched();
    return sketched ? known.at(output_of(*sketched)) : place(graph, value);
  };
  for (const NodePointer& node : topological(outputs, known)) {
    Values operands;
    for (const Value& input : node->inputs) operands.push_back(find(input));
    Values results = emit_node(graph, *node, operands);
    for (size_t i = 0; i < results.size(); ++i) known.try_emplace({node.get(), int(i)}, results[i]);
  }
  Values replayed;
  for (const Value& output : outputs) replayed.push_back(find(output));
  return replayed;
}

}  // namespace stoker
