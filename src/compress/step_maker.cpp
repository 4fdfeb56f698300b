#include "compress/step_maker.h"

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker::compress {

namespace {

// Models that are called as they are, on inputs that they declare.
bool opens(const LayerCall& call, const SketchNode& node) {
  const ModelBase* model = ModelAccess::base(call.layer);
  if (model == nullptr || call.training || !call.masked.empty() ||
      !call.arguments.entries().empty())
    return false;
  const Topology& topology = model->topology("quantize");
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].sketched()) return false;
    const TensorSpec &given = node.inputs[i].spec(), &own = topology.inputs[i].spec();
    if (given.dtype != own.dtype || given.shape.rank() != own.shape.rank()) return false;
  }
  return true;
}

}  // namespace

std::vector<int> StepMaker::open(const ModelBase& model, const std::string& prefix,
                                 const std::vector<int>& given) {
  const Topology& topology = model.topology(request_.action);
  Places there;
  for (size_t i = 0; i < topology.inputs.size(); ++i) there[place(topology.inputs[i])] = given[i];
  for (const auto& node : topology.nodes) add(*node, there, prefix);
  std::vector<int> outputs;
  for (const Value& output : topology.outputs) outputs.push_back(there.at(place(output)));
  return outputs;
}

int StepMaker::new_edge(const TensorSpec& spec, std::string name, int maker) {
  EdgeInfo edge;
  edge.spec = spec;
  edge.name = std::move(name);
  edge.maker = maker;
  plan_.edges_.push_back(edge);
  return int(plan_.edges_.size()) - 1;
}

StepMaker::Place StepMaker::place(const Value& value) {
  return {value.sketched()->node.get(), value.sketched()->output};
}

Operand StepMaker::operand(const Value& value, const Places& there) {
  if (value.sketched()) return {there.at(place(value)), {}};
  return {-1, value};
}

void StepMaker::add(const SketchNode& node, Places& there, const std::string& prefix) {
  const LayerCall* call = call_of(node);
  if (call != nullptr && opens(*call, node)) {
    std::vector<int> given;
    for (const Value& input : node.inputs) given.push_back(there.at(place(input)));
    std::vector<int> outputs =
        open(*ModelAccess::base(call->layer), prefix + call->layer.name() + "/", given);
    for (size_t i = 0; i < outputs.size(); ++i) there[{&node, int(i)}] = outputs[i];
    return;
  }
  Step step;
  step.node = &node;
  for (const Value& input : node.inputs) step.inputs.push_back(operand(input, there));
  if (call != nullptr) {
    step.layer = call->layer;
    step.path = prefix + call->layer.name();
    size_t inputs = step.inputs.size() - call->masked.size();
    step.masks.assign(step.inputs.begin() + std::ptrdiff_t(inputs), step.inputs.end());
    step.inputs.resize(inputs);
    classify_layer(step, *call);
  } else if (const auto* op = std::get_if<SketchOp>(&node.what)) {
    step.path = prefix + op->op;
    classify_op(step, *op);
  } else {
    throw ValueError(
        fmt::format("{}: the model holds a callable that is not a layer", request_.action));
  }
  std::vector<int> outputs = append(std::move(step), node.outputs);
  for (size_t i = 0; i < outputs.size(); ++i) there[{&node, int(i)}] = outputs[i];
}

const TensorSpec& StepMaker::spec(const Operand& operand) const {
  return plan_.edges_[size_t(operand.edge)].spec;
}

// The step, and those of the rest of its layer.
std::vector<int> StepMaker::append(Step step, const std::vector<TensorSpec>& specs) {
  std::vector<Layer> rest = std::exchange(rest_, {});
  std::string path = step.path;
  if (rest.empty()) return push(std::move(step), specs);
  std::vector<int> made;
  for (size_t i = 0; i <= rest.size(); ++i) {
    bool last = i == rest.size();
    Values sketched = {sketched_like(step.inputs[0])};
    std::vector<TensorSpec> own =
        last ? specs : std::vector<TensorSpec>{step.layer(sketched[0]).spec()};
    made = push(std::move(step), own);
    if (last) break;
    step = Step();
    step.path = path;
    step.layer = rest[i];
    step.inputs = {{made[0], {}}};
    step.kind = is_product(rest[i]) ? StepKind::product : StepKind::activation;
    if (step.kind == StepKind::activation && !is_elementwise(rest[i])) {
      step.kind = StepKind::other;
      step.reason = fmt::format("{} has no int8 form",
                                rest[i].base().config().get<std::string>("activation"));
    }
  }
  return made;
}

Value StepMaker::sketched_like(const Operand& operand) const {
  TensorSpec whole = spec(operand);
  return sketch_input("x", {whole.dtype, whole.shape.drop_front()}, whole.shape[0]);
}

std::vector<int> StepMaker::push(Step step, const std::vector<TensorSpec>& specs) {
  int index = int(plan_.steps_.size());
  for (const TensorSpec& one : specs) step.outputs.push_back(new_edge(one, step.path, index));
  std::vector<int> outputs = step.outputs;
  plan_.steps_.push_back(std::move(step));
  return outputs;
}

}  // namespace stoker::compress
