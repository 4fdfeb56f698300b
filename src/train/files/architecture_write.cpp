#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "formats/json.h"
#include "nn/layer_tree.h"
#include "train/files/architecture.h"
#include "train/files/attrs_json.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  explicit Writer(std::vector<Tensor>& constants) : constants_(constants) {}

  Json model(const ModelBase& model) {
    const Topology& topology = model.topology("save");
    if (places_.size() > size_t(kMaxNesting))
      throw ValueError(fmt::format("save: models are nested more than {} deep", kMaxNesting));
    places_.emplace_back();
    Json json = {{"kind", model.kind()}, {"name", model.label()}};
    json["inputs"] = inputs(topology);
    Json layers = Json::array();
    for (const Layer& layer : model.layers()) layers.push_back(this->layer(layer));
    json["layers"] = std::move(layers);
    if (!model.sequential()) connect(topology, json);  // else its layers follow each other
    places_.pop_back();
    return json;
  }

 private:
  using Place = std::pair<const SketchNode*, int>;

  // A weight in the file: a layer by its number, and which of its weights().
  struct Owner {
    size_t layer, weight;
    const LayerBase* base;
  };

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
      if (int64_t batch = topology.inputs[i].shape()[0]; batch > 0)
        list.back()["batch_size"] = batch;
    }
    return list;
  }

  // Layers are numbered in the order in which they end. One that stands in several models is
  // written once.
  Json layer(const Layer& layer) {
    if (auto known = numbers_.find(&layer.base()); known != numbers_.end())
      return {{"same_as", known->second}};
    const ModelBase* inner = ModelAccess::base(layer);
    Json json = inner != nullptr ? model(*inner) : leaf(layer.base());
    size_t number = numbers_.size();
    numbers_.emplace(&layer.base(), number);
    if (inner == nullptr) own_weights(layer.base(), number);
    return json;
  }

  static Json leaf(const LayerBase& layer) {
    std::string kind = layer.kind();
    if (kind.empty() || kind == "Functional" || kind == "Sequential")
      throw ValueError(fmt::format(
          "save: the kind() of layer \"{}\" is \"{}\", which a file cannot tell from a model; give "
          "its class another",
          layer.name(), kind));
    Json json = {{"kind", kind},
                 {"name", layer.name()},
                 {"config", Json::parse(attrs_to_json(full_config(layer)))}};
    if (is_own_class(layer)) json["custom"] = true;
    if (Json states = inner_states(layer); !states.empty()) json["trainable"] = std::move(states);
    return json;
  }

  void own_weights(const LayerBase& layer, size_t number) {
    std::vector<Variable> weights = layer.weights();
    for (size_t i = 0; i < weights.size(); ++i)
      owners_.try_emplace(weights[i].id(), Owner{number, i, &layer});
  }

  // Nodes and outputs. A node that uses a layer's weight comes after that layer's first call, which
  // makes the weight when the file is read.
  void connect(const Topology& topology, Json& json) {
    for (size_t i = 0; i < topology.inputs.size(); ++i)
      places_.back()[place(topology.inputs[i])] = Json::array({"input", i});
    uncalled_.clear();
    for (const Layer& layer : topology.layers)
      if (ModelAccess::base(layer) == nullptr) uncalled_.insert(&layer.base());
    Json nodes = Json::array();
    std::vector<const SketchNode*> waiting;
    for (const auto& node : topology.nodes) waiting.push_back(node.get());
    while (!waiting.empty()) {
      std::vector<const SketchNode*> later;
      for (const SketchNode* node : waiting)
        if (is_ready(*node))
          append(*node, topology.layers, nodes);
        else
          later.push_back(node);
      if (later.size() == waiting.size()) fail_order(*later.front());
      waiting = std::move(later);
    }
    json["nodes"] = std::move(nodes);
    Json outputs = Json::array();
    for (const Value& output : topology.outputs) outputs.push_back(reference(output));
    json["outputs"] = std::move(outputs);
  }

  // The layer whose weight this is, while it has not been called yet; else null.
  const LayerBase* uncalled_owner(const Value& value) const {
    if (value.variable() == nullptr) return nullptr;
    auto owner = owners_.find(value.variable()->id());
    return owner != owners_.end() && uncalled_.contains(owner->second.base) ? owner->second.base
                                                                            : nullptr;
  }

  bool is_ready(const SketchNode& node) const {
    return std::ranges::all_of(node.inputs, [&](const Value& input) {
      return input.sketched() ? places_.back().contains(place(input))
                              : uncalled_owner(input) == nullptr;
    });
  }

  [[noreturn]] void fail_order(const SketchNode& node) const {
    for (const Value& input : node.inputs)
      if (const LayerBase* owner = uncalled_owner(input))
        throw ValueError(fmt::format(
            "save: weight \"{}\" is used by what layer \"{}\", which owns it, is called "
            "with; call the layer first",
            input.variable()->name(), owner->name()));
    throw ValueError("save: the model's connections have no order");
  }

  void append(const SketchNode& node, const std::vector<Layer>& layers, Json& nodes) {
    nodes.push_back(this->node(node, layers));
    if (const Layer* called = layer_of(node)) uncalled_.erase(&called->base());
    for (size_t output = 0; output < node.outputs.size(); ++output)
      places_.back().try_emplace({&node, int(output)},
                                 Json::array({"node", nodes.size() - 1, output}));
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
      if (!call->masked.empty()) json["masked"] = call->masked;
      if (!call->arguments.entries().empty())
        json["arguments"] = Json::parse(attrs_to_json(call->arguments));
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
    auto owner = value.variable() ? owners_.find(value.variable()->id()) : owners_.end();
    if (owner != owners_.end())
      return Json::array({"weight", owner->second.layer, owner->second.weight});
    throw ValueError(
        fmt::format("save: variable \"{}\" is used outside of a layer, and no layer before it in "
                    "the model owns "
                    "it, so that it cannot be written to a file; make it a weight of a layer",
                    value.variable() ? value.variable()->name() : ""));
  }

  size_t constant(const Tensor& tensor) {
    constants_.push_back(tensor);
    return constants_.size() - 1;
  }

  std::vector<Tensor>& constants_;
  std::vector<std::map<Place, Json>> places_;  // innermost model last
  std::map<const LayerBase*, size_t> numbers_;
  std::map<const void*, Owner> owners_;  // by the variable's id
  std::set<const LayerBase*> uncalled_;  // of the model whose nodes are being written
};

}  // namespace

std::string architecture_to_json(const ModelBase& model, std::vector<Tensor>& constants) {
  return dump_json(Writer(constants).model(model));
}

}  // namespace stoker
