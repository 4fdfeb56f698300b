#include "train/model/rebuilt.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/layer_tree.h"
#include "nn/names.h"
#include "train/model/model_base.h"

namespace stoker {

namespace {

class Rebuilder {
 public:
  Rebuilder(const MakeLayer& make, const char* action) : make_(make), action_(action) {}

  std::shared_ptr<ModelBase> outermost(const ModelBase& old, const Values& inputs) {
    if (!old.connected() && inputs.empty()) return unconnected(old);
    return inputs.empty() ? model(old, "", {}) : on_inputs(old, "", checked(old, inputs));
  }

 private:
  using Place = std::pair<const SketchNode*, int>;
  using Places = std::map<Place, Value>;

  // One that the program did not give a name gets none, so that several clones fit into one model.
  static std::string name_of(const ModelBase& old) {
    return old.name() == snake_case(old.kind()) ? std::string() : old.name();
  }

  // A list of layers that has not met an input yet.
  std::shared_ptr<ModelBase> unconnected(const ModelBase& old) {
    std::vector<Layer> layers;
    for (const Layer& layer : old.layers()) layers.push_back(layer_for(layer, "", {}));
    return std::make_shared<ModelBase>(layers, name_of(old));
  }

  const Values& checked(const ModelBase& old, const Values& inputs) const {
    const Topology& topology = old.topology(action_);
    if (inputs.size() != topology.inputs.size())
      throw ValueError(fmt::format("{}: {} has {} inputs, got {}", action_, old.title(),
                                   topology.inputs.size(), inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined() || inputs[i].sketched() == nullptr)
        throw ValueError(
            fmt::format("{}: input {} is not a value that began with Input()", action_, i));
      check_input(inputs[i].spec(), topology.input_row(i),
                  fmt::format("{}: {}", action_, old.title()), topology.input_names[i]);
    }
    return inputs;
  }

  // `given`: what a model inside another one is called with; empty: it is the outermost.
  std::shared_ptr<ModelBase> model(const ModelBase& old, const std::string& prefix,
                                   const Values& given) {
    const Topology& topology = old.topology(action_);
    Values inputs;
    for (size_t i = 0; i < topology.inputs.size(); ++i)
      inputs.push_back(sketch_input(topology.input_names[i], row_for(topology, i, given),
                                    topology.inputs[i].shape()[0]));
    return on_inputs(old, prefix, inputs);
  }

  std::shared_ptr<ModelBase> on_inputs(const ModelBase& old, const std::string& prefix,
                                       const Values& inputs) {
    const Topology& topology = old.topology(action_);
    if (old.sequential()) {
      std::vector<Layer> layers;
      Value x = inputs[0];
      for (const Layer& layer : old.layers()) {
        layers.push_back(layer_for(layer, prefix, {x}));
        x = layers.back()(x);
      }
      auto made = std::make_shared<ModelBase>(inputs[0], layers, name_of(old));
      for (const Layer& layer : old.layers()) freeze_inner(layer);
      return made;
    }
    Places there;
    for (size_t i = 0; i < inputs.size(); ++i) there[place(topology.inputs[i])] = inputs[i];
    for (const auto& node : topology.nodes) add(*node, there, prefix);
    Values outputs;
    for (const Value& output : topology.outputs) outputs.push_back(there.at(place(output)));
    auto made = std::make_shared<ModelBase>(inputs, outputs, name_of(old));
    for (const Layer& layer : old.layers()) freeze_inner(layer);
    return made;
  }

  static Place place(const Value& value) {
    return {value.sketched()->node.get(), value.sketched()->output};
  }

  // The row of an input, with as many channels as the model gets now.
  static TensorSpec row_for(const Topology& topology, size_t index, const Values& given) {
    TensorSpec row = topology.input_row(index);
    if (index >= given.size()) return row;
    const Shape& now = given[index].shape();
    if (now.rank() == row.shape.rank() + 1 && now.rank() > 1 && row.shape[-1] > 0)
      row.shape.set(row.shape.rank() - 1, now[-1]);
    return row;
  }

  Layer layer_for(const Layer& old, const std::string& prefix, const Values& given) {
    auto known = made_.find(&old.base());
    if (known != made_.end()) return known->second;
    std::string path = prefix + old.name();
    ModelBase* inner = ModelAccess::base(old);
    Layer layer =
        inner != nullptr ? ModelAccess::wrap(model(*inner, path + "/", given)) : make_(old, path);
    if (inner != nullptr) layer.base().set_name(old.name());
    made_.emplace(&old.base(), layer);
    return layer;
  }

  void add(const SketchNode& node, Places& there, const std::string& prefix) {
    Values results;
    if (const LayerCall* call = call_of(node)) {
      CallOptions options{.training = call->training, .arguments = call->arguments};
      Values from = operands(node, there);
      Layer layer = layer_for(call->layer, prefix, from);
      size_t inputs = from.size() - call->masked.size();
      if (!call->masked.empty()) options.mask.resize(inputs);
      for (size_t i = 0; i < call->masked.size(); ++i)
        options.mask[call->masked[i]] = from[inputs + i];
      from.resize(inputs);
      results = layer.call_all(from, options);
    } else if (const auto* op = std::get_if<SketchOp>(&node.what)) {
      results = stoker::apply(op->op, operands(node, there), op->attrs);
    } else {
      throw ValueError(
          fmt::format("{}: the model holds a callable that is not "
                      "a layer, which cannot be made again",
                      action_));
    }
    for (size_t i = 0; i < results.size(); ++i) there[{&node, int(i)}] = results[i];
  }

  Values operands(const SketchNode& node, const Places& there) const {
    Values from;
    for (const Value& input : node.inputs)
      from.push_back(input.sketched()   ? there.at(place(input))
                     : input.variable() ? Value(weight_of_made(made_, *input.variable(), action_))
                                        : input);
    return from;
  }

  // Once the layer has been called: only then are those inside of it known.
  void freeze_inner(const Layer& old) const {
    if (ModelAccess::base(old) != nullptr) return;
    std::vector<Descendant> before = descendants(old.base());
    std::vector<Descendant> now = descendants(made_.at(&old.base()).base());
    for (size_t i = 0; i < std::min(before.size(), now.size()); ++i)
      if (now[i].layer.trainable() != before[i].layer.trainable())
        now[i].layer.set_trainable(before[i].layer.trainable());
  }

  const MakeLayer& make_;
  const char* action_;
  MadeLayers made_;
};

}  // namespace

Variable weight_of_made(const MadeLayers& made, const Variable& old, const char* action) {
  for (const auto& [base, layer] : made) {
    std::vector<Variable> before = base->weights(), now = layer.weights();
    auto found = std::ranges::find(before, old);
    if (found != before.end() && before.size() == now.size())
      return now[size_t(found - before.begin())];
  }
  throw ValueError(
      fmt::format("{}: variable \"{}\" is used outside of a layer, and no layer before it in the "
                  "model owns it; make it a weight of a layer",
                  action, old.name()));
}

Model rebuilt(const Model& model, const MakeLayer& make, const char* action, const Values& inputs) {
  return ModelAccess::wrap(Rebuilder(make, action).outermost(ModelAccess::base(model), inputs));
}

}  // namespace stoker
