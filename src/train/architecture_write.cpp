#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "nn/layer_tree.h"
#include "train/architecture.h"
#include "train/attrs_json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  explicit Writer(std::vector<Tensor>& constants) : constants_(constants) {}

  Json model(const ModelBase& model) {
    const Topology& topology = model.topology("save");
    Json json = {{"kind", model.kind()}, {"name", model.label()}};
    json["inputs"] = inputs(topology);
    Json layers = Json::array();
    for (const Layer& layer : model.layers()) layers.push_back(this->layer(layer));
    json["layers"] = std::move(layers);
    if (model.sequential()) return json;  // its layers follow each other
    places_.emplace_back();
    for (size_t i = 0; i < topology.inputs.size(); ++i)
      places_.back()[place(topology.inputs[i])] = Json::array({"input", i});
    Json nodes = Json::array();
    for (const auto& node : topology.nodes) {
      nodes.push_back(this->node(*node, topology.layers));
      for (size_t output = 0; output < node->outputs.size(); ++output)
        places_.back().try_emplace({node.get(), int(output)},
                                   Json::array({"node", nodes.size() - 1, output}));
    }
    json["nodes"] = std::move(nodes);
    Json outputs = Json::array();
    for (const Value& output : topology.outputs) outputs.push_back(reference(output));
    json["outputs"] = std::move(outputs);
    places_.pop_back();
    return json;
  }

 private:
  using Place = std::pair<const SketchNode*, int>;

  static Place place(const Value& value) {
    return {value.sketched()->node.get(), value.sketched()->output};
  }

  static Json inputs(const Topology& topology) {
    Json list = Json::array();
    for (size_t i = 0; i < topology.inputs.size(); ++i) {
      TensorSpec row = topology.input_row(i);
      list.push_back({{"name", topology.input_names[i]},
                      {"dtype", std::string(name(row.dtype))},
                      {"shape", Ints(row.shape.begin(), row.shape.end())}});
    }
    return list;
  }

  Json layer(const Layer& layer) {
    if (const ModelBase* inner = ModelAccess::base(layer)) return model(*inner);
    Json json = {{"kind", layer.base().kind()},
                 {"name", layer.name()},
                 {"config", Json::parse(attrs_to_json(full_config(layer.base())))}};
    Json states = inner_states(layer.base());
    if (!states.empty()) json["trainable"] = std::move(states);
    return json;
  }

  // Which of the layers inside are frozen, parents first; the layer's maker may know otherwise.
  static Json inner_states(const LayerBase& layer) {
    Json states = Json::object();
    for (const Descendant& inner : descendants(layer))
      if (!inner.layer.weights().empty()) states[inner.path] = inner.layer.trainable();
    return states;
  }

  Json node(const SketchNode& node, const std::vector<Layer>& layers) {
    Json json;
    if (const LayerCall* call = call_of(node)) {
      json["layer"] = std::ranges::find(layers, call->layer) - layers.begin();
      if (call->training) json["training"] = *call->training;
    } else if (const auto* op = std::get_if<SketchOp>(&node.what)) {
      json["op"] = op->op;
      json["attrs"] = Json::parse(attrs_to_json(op->attrs));
    } else {
      throw ValueError(
          "save: the model holds a callable that is not a layer, which cannot be written to a "
          "file");
    }
    Json from = Json::array();
    for (const Value& input : node.inputs) from.push_back(reference(input));
    json["from"] = std::move(from);
    return json;
  }

  Json reference(const Value& value) {
    if (value.sketched()) return places_.back().at(place(value));
    if (const double* number = value.scalar())
      return Json::array({"constant", constant(Tensor(float(*number)))});
    if (const Tensor* tensor = value.constant())
      return Json::array({"constant", constant(*tensor)});
    throw ValueError(fmt::format(
        "save: variable \"{}\" is used outside of a layer and cannot be written to a file; make it "
        "a weight of a layer",
        value.variable() ? value.variable()->name() : ""));
  }

  size_t constant(const Tensor& tensor) {
    constants_.push_back(tensor);
    return constants_.size() - 1;
  }

  std::vector<Tensor>& constants_;
  std::vector<std::map<Place, Json>> places_;  // innermost model last
};

}  // namespace

std::string architecture_to_json(const ModelBase& model, std::vector<Tensor>& constants) {
  return Writer(constants).model(model).dump();
}

}  // namespace stoker
