#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <stoker/layers.h>

#include "formats/json.h"
#include "graph/op.h"
#include "nn/layer_tree.h"
#include "nn/names.h"
#include "train/files/architecture.h"
#include "train/files/attrs_json.h"
#include "train/files/model_config.h"

namespace stoker {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw ValueError(fmt::format("{}: {}", where, what));
}

const Json& field(const Json& json, const char* name, Json::value_t type,
                  const std::string& where) {
  if (!json.is_object()) fail(where, "expected a JSON object");
  auto found = json.find(name);
  if (found == json.end()) fail(where, fmt::format("\"{}\" is missing", name));
  if (found->type() != type) fail(where, fmt::format("\"{}\" is of the wrong type", name));
  return *found;
}

std::string text(const Json& json, const char* name, const std::string& where) {
  return field(json, name, Json::value_t::string, where).get<std::string>();
}

const Json& list(const Json& json, const char* name, const std::string& where) {
  return field(json, name, Json::value_t::array, where);
}

// An index below `limit`.
size_t index(const Json& json, size_t limit, const std::string& where, const char* what) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() >= limit)
    fail(where, fmt::format("there is no {} {}; a node can refer only to what stands before it",
                            what, json.dump()));
  return json.get<size_t>();
}

class Reader {
 public:
  Reader(const std::vector<Tensor>& constants, const LayerFactories& custom)
      : constants_(constants), custom_(with_models(custom)) {}

  // `prefix`: the names of the models around it, "encoder/".
  std::shared_ptr<ModelBase> model(const Json& json, const std::string& where,
                                   const std::string& prefix, int depth) {
    if (depth > kMaxNesting)
      fail(where, fmt::format("models are nested more than {} deep", kMaxNesting));
    std::string kind = text(json, "kind", where), name = text(json, "name", where);
    std::string here = fmt::format("{} \"{}\"", kind, name);
    // One that the program did not name stays so: several files fit into one model.
    if (depth == 0 && name == snake_case(kind)) name.clear();
    std::vector<Layer> layers;
    for (const Json& each : list(json, "layers", here))
      layers.push_back(
          layer(each, fmt::format("{}, layer {}", here, layers.size()), prefix, depth));
    name_layers(layers);
    Values inputs = this->inputs(json, here);
    if (kind != "Sequential" && kind != "Functional")
      fail(where, fmt::format("unknown kind of model \"{}\"", kind));
    std::shared_ptr<ModelBase> made = kind == "Sequential"
                                          ? sequential(inputs, layers, name, here)
                                          : functional(json, inputs, layers, name, here);
    for (size_t i = 0; i < layers.size(); ++i) set_inner_states(layers[i], json["layers"][i], here);
    return made;
  }

 private:
  // Layers are numbered in the order in which they end.
  Layer layer(const Json& json, const std::string& where, const std::string& prefix, int depth) {
    if (json.is_object() && json.contains("same_as"))
      return made_[index(json["same_as"], made_.size(), where, "layer")];
    std::string kind = text(json, "kind", where), name = text(json, "name", where);
    if (name.empty()) fail(where, "a layer has no name");
    Layer layer = kind == "Functional" || kind == "Sequential"
                      ? ModelAccess::wrap(model(json, where, prefix + name + "/", depth + 1))
                      : leaf(json, kind, name, prefix + name, where);
    if (std::ranges::find(made_, layer) != made_.end())
      fail(where, fmt::format("the maker for {} \"{}\" in custom_objects returned a layer that it "
                              "had returned before; each call has to make a new one",
                              kind, name));
    made_.push_back(layer);
    return layer;
  }

  Layer leaf(const Json& json, const std::string& kind, const std::string& name,
             const std::string& path, const std::string& where) {
    Attrs config = attrs_from_json(field(json, "config", Json::value_t::object, where).dump());
    bool own = json.contains("custom") && json["custom"] == true;
    check_name(kind, name, path, where);
    try {
      return layer_from_config(kind, name, config, custom_, {.path = path, .own = own});
    } catch (const Error& error) {
      fail(where, error.what());
    }
  }

  // A maker that was passed by a layer's name is for one layer.
  void check_name(const std::string& kind, const std::string& name, const std::string& path,
                  const std::string& where) {
    if (custom_.contains(kind) || !custom_.contains(name)) return;
    if (path != name && custom_.contains(path)) return;
    auto [first, is_first] = by_name_.emplace(name, path);
    if (!is_first)
      fail(where, fmt::format("custom_objects has a maker for \"{0}\", and two layers have that "
                              "name: \"{1}\" and \"{2}\"; pass one by its path",
                              name, first->second, path));
  }

  // Once the layers have been called: only then are those inside of them known.
  static void set_inner_states(const Layer& layer, const Json& json, const std::string& where) {
    auto states = json.find("trainable");
    if (states == json.end() || !states->is_object()) return;
    for (const auto& [path, trainable] : states->items()) {
      Layer inner = find_descendant(layer.children(), layer.base().label(), path);
      if (inner.shared() == nullptr || !trainable.is_boolean())
        fail(where,
             fmt::format("layer \"{}\" has no layer \"{}\" inside to freeze", layer.name(), path));
      inner.set_trainable(trainable.get<bool>());
    }
  }

  // -1: any.
  static int64_t batch_size(const Json& input, const std::string& where) {
    if (!input.contains("batch_size")) return -1;
    const Json& batch = input["batch_size"];
    if (!batch.is_number_unsigned() || batch.get<uint64_t>() > kMaxExtent || batch == 0)
      fail(where, fmt::format("an input has the batch size {}", batch.dump()));
    return batch.get<int64_t>();
  }

  Values inputs(const Json& json, const std::string& where) {
    Values values;
    for (const Json& each : list(json, "inputs", where)) {
      Shape shape;
      for (const Json& extent : list(each, "shape", where)) {
        bool unknown = extent.is_number_integer() && extent.get<int64_t>() == -1;
        bool known = extent.is_number_unsigned() && extent.get<uint64_t>() <= kMaxExtent;
        if (!(known || unknown) || shape.rank() + 1 >= Shape::kMaxRank)
          fail(where, fmt::format("an input has the shape {}", each["shape"].dump()));
        Ints dims(shape.begin(), shape.end());
        dims.push_back(extent.get<int64_t>());
        shape = Shape(std::span<const int64_t>(dims));
      }
      values.push_back(sketch_input(text(each, "name", where),
                                    {dtype_from_name(text(each, "dtype", where)), shape},
                                    batch_size(each, where)));
    }
    if (values.empty()) fail(where, "it has no inputs");
    return values;
  }

  static std::shared_ptr<ModelBase> sequential(const Values& inputs,
                                               const std::vector<Layer>& layers,
                                               const std::string& name, const std::string& where) {
    if (inputs.size() != 1) fail(where, fmt::format("it has {} inputs, expected 1", inputs.size()));
    return std::make_shared<ModelBase>(inputs[0], layers, name);
  }

  std::shared_ptr<ModelBase> functional(const Json& json, const Values& inputs,
                                        const std::vector<Layer>& layers, const std::string& name,
                                        const std::string& where) {
    std::vector<Values> nodes;
    for (const Json& each : list(json, "nodes", where)) {
      std::string here = fmt::format("{}, node {}", where, nodes.size());
      Values from;
      for (const Json& one : list(each, "from", here))
        from.push_back(reference(one, inputs, nodes, here));
      if (from.empty()) fail(here, "it has no inputs");
      nodes.push_back(node(each, from, layers, here));
    }
    Values outputs;
    for (const Json& one : list(json, "outputs", where))
      outputs.push_back(reference(one, inputs, nodes, where));
    return std::make_shared<ModelBase>(inputs, outputs, name);
  }

  Values node(const Json& json, const Values& from, const std::vector<Layer>& layers,
              const std::string& where) {
    try {
      if (json.contains("layer"))
        return call(json, layers[index(json["layer"], layers.size(), where, "layer")], from, where);
      Attrs attrs = attrs_from_json(field(json, "attrs", Json::value_t::object, where).dump());
      return apply(text(json, "op", where), from, std::move(attrs));
    } catch (const ShapeError& error) {
      fail(where, error.what());
    }
  }

  // "masked": the inputs whose masks stand behind the layer's inputs.
  static Values call(const Json& json, const Layer& layer, Values from, const std::string& where) {
    CallOptions options{.training = training(json, where)};
    if (json.contains("arguments"))
      options.arguments =
          attrs_from_json(field(json, "arguments", Json::value_t::object, where).dump());
    if (json.contains("masked")) {
      const Json& masked = list(json, "masked", where);
      if (masked.size() >= from.size()) fail(where, "it has more masks than inputs");
      size_t inputs = from.size() - masked.size();
      options.mask.resize(inputs);
      for (size_t i = 0; i < masked.size(); ++i)
        options.mask[index(masked[i], inputs, where, "input")] = from[inputs + i];
      from.resize(inputs);
    }
    return layer.call_all(from, options);
  }

  static std::optional<bool> training(const Json& json, const std::string& where) {
    if (!json.contains("training")) return {};
    return field(json, "training", Json::value_t::boolean, where).get<bool>();
  }

  Value reference(const Json& json, const Values& inputs, const std::vector<Values>& nodes,
                  const std::string& where) {
    bool good = json.is_array() && json.size() >= 2 && json[0].is_string();
    std::string kind = good ? json[0].get<std::string>() : "";
    if (kind == "input" && json.size() == 2)
      return inputs[index(json[1], inputs.size(), where, "input")];
    if (kind == "constant" && json.size() == 2)
      return constants_[index(json[1], constants_.size(), where, "constant")];
    if (kind == "weight" && json.size() == 3) {
      std::vector<Variable> weights = made_[index(json[1], made_.size(), where, "layer")].weights();
      return weights[index(json[2], weights.size(), where, "weight")];
    }
    if (kind == "node" && json.size() == 3) {
      const Values& outputs = nodes[index(json[1], nodes.size(), where, "node")];
      return outputs[index(json[2], outputs.size(), where, "output")];
    }
    fail(where, fmt::format("{} refers to nothing", json.dump()));
  }

  static constexpr uint64_t kMaxExtent = uint64_t(1) << 40;
  const std::vector<Tensor>& constants_;
  const LayerFactories custom_;
  std::vector<Layer> made_;                     // by number
  std::map<std::string, std::string> by_name_;  // paths of layers whose maker was passed by name
};

}  // namespace

std::shared_ptr<ModelBase> architecture_from_json(std::string_view text,
                                                  const std::vector<Tensor>& constants,
                                                  const LayerFactories& custom) {
  try {
    return Reader(constants, custom).model(parse_ordered_json(text), "architecture", "", 0);
  } catch (const Json::exception& error) {
    throw ValueError(fmt::format("architecture: {}", error.what()));
  }
}

}  // namespace stoker
