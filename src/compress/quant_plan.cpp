#include "compress/quant_plan.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/layers.h>

#include "base/field_types.h"
#include "compress/masks.h"
#include "compress/rebuild.h"
#include "graph/ops/quantized.h"
#include "nn/layer_factory.h"
#include "train/model/model_base.h"

namespace stoker::compress {

namespace {

template <size_t n>
bool one_of_kinds(const std::string& kind, const std::array<std::string_view, n>& kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

bool is_dropped(const std::string& kind) {
  static constexpr std::array<std::string_view, 10> kKinds = {
      kRangeLayer,        "Dropout",
      "SpatialDropout1D", "SpatialDropout2D",
      "SpatialDropout3D", "GaussianNoise",
      "GaussianDropout",  "AlphaDropout",
      "Identity",         "ActivityRegularization"};
  return one_of_kinds(kind, kKinds);
}

bool is_moved(const Layer& layer) {
  static constexpr std::array<std::string_view, 5> kKinds = {"Flatten", "Reshape", "Permute",
                                                             "RepeatVector", "Cropping2D"};
  std::string kind = layer.base().kind();
  if (kind == "UpSampling2D")
    return layer.base().config().get_or("interpolation", std::string("nearest")) == "nearest";
  return one_of_kinds(kind, kKinds);
}

bool is_product(const Layer& layer) {
  std::string kind = product_kind(layer);
  return kind == "Dense" || kind == "Conv2D" || kind == "DepthwiseConv2D";
}

bool names_one_number(const std::string& activation) {
  static constexpr std::array<std::string_view, 5> kOthers = {"softmax", "log_softmax", "sparsemax",
                                                              "glu", ActivationFunction::kCustom};
  return !one_of_kinds(activation, kOthers);
}

bool is_last_axis(const Layer& layer, int rank) {
  auto axis = layer.base().config().get_or<int64_t>("axis", -1);
  return axis == -1 || axis == rank - 1;
}

int64_t products_of(const Layer& layer) {
  Shape kernel = layer.weights()[0].shape();
  std::string kind = product_kind(layer);
  if (kind == "Dense") return kernel[0];
  return kernel[0] * kernel[1] * (kind == "Conv2D" ? kernel[2] : 1);
}

}  // namespace

bool is_aware(const Layer& layer) {
  return layer.base().kind() == kAwareLayer && !is_own_class(layer.base());
}

std::string product_kind(const Layer& layer) {
  return is_aware(layer) ? layer.base().config().get<std::string>("layer") : layer.base().kind();
}

Attrs product_config(const Layer& layer) {
  Attrs config = layer.base().config();
  return is_aware(layer) ? fields::nested(config, "layer") : config;
}

std::optional<Clip> clip_of(const Layer& layer) {
  std::string kind = layer.base().kind();
  if (is_own_class(layer.base())) return {};
  Attrs config = layer.base().config();
  if (kind == "Activation") {
    auto name = config.get_or("activation", std::string());
    if (name == "relu") return Clip{};
    if (name == "relu6") return Clip{6.0};
    return {};
  }
  if (kind != "ReLU" || config.get_or("negative_slope", 0.0) != 0 ||
      config.get_or("threshold", 0.0) != 0)
    return {};
  Clip clip;
  if (config.has("max_value")) clip.high = config.get<double>("max_value");
  return clip;
}

bool is_elementwise(const Layer& layer) {
  std::string kind = layer.base().kind();
  if (is_own_class(layer.base())) return false;
  if (kind == "Activation")
    return names_one_number(layer.base().config().get_or("activation", std::string()));
  return kind == "ReLU" || kind == "LeakyReLU" || kind == "ELU";
}

// --- making the steps ------------------------------------------------------------------------------

class PlanBuilder8 {
 public:
  PlanBuilder8(QuantPlan& plan, const PlanRequest& request) : plan_(plan), request_(request) {}

  std::vector<int> open(const ModelBase& model, const std::string& prefix,
                        const std::vector<int>& given) {
    const Topology& topology = model.topology(request_.action);
    Places there;
    for (size_t i = 0; i < topology.inputs.size(); ++i) there[place(topology.inputs[i])] = given[i];
    for (const auto& node : topology.nodes) add(*node, there, prefix);
    std::vector<int> outputs;
    for (const Value& output : topology.outputs) outputs.push_back(there.at(place(output)));
    return outputs;
  }

  int new_edge(const TensorSpec& spec, std::string name, int maker) {
    EdgeInfo edge;
    edge.spec = spec;
    edge.name = std::move(name);
    edge.maker = maker;
    plan_.edges_.push_back(edge);
    return int(plan_.edges_.size()) - 1;
  }

 private:
  using Place = std::pair<const SketchNode*, int>;
  using Places = std::map<Place, int>;

  static Place place(const Value& value) {
    return {value.sketched()->node.get(), value.sketched()->output};
  }

  static Operand operand(const Value& value, const Places& there) {
    if (value.sketched()) return {there.at(place(value)), {}};
    return {-1, value};
  }

  void add(const SketchNode& node, Places& there, const std::string& prefix) {
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

  // Models that are called as they are, on inputs that they declare.
  static bool opens(const LayerCall& call, const SketchNode& node) {
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

  const TensorSpec& spec(const Operand& operand) const {
    return plan_.edges_[size_t(operand.edge)].spec;
  }

  void classify_layer(Step& step, const LayerCall& call) {
    const LayerBase& layer = step.layer.base();
    std::string kind = layer.kind();
    auto other = [&](const std::string& reason) { step.reason = reason; };
    if (ModelAccess::base(step.layer) != nullptr)
      return other("it is a model that is called with options of its own");
    if (is_own_class(layer)) return other("it is a class of the program");
    bool plain = step.masks.empty() && call.arguments.entries().empty() &&
                 std::ranges::all_of(step.inputs, [](const Operand& one) { return one.edge >= 0; });
    if (!plain) return other("it is called with a mask or arguments");
    bool floats = std::ranges::all_of(
        step.inputs, [&](const Operand& one) { return spec(one).dtype == DType::float32; });
    if (!floats) return other(fmt::format("{} of integers", kind));
    if (call.training.value_or(false)) return other("it is called as in training");
    bool trained = !request_.only_aware || is_aware(step.layer);
    if (!trained && (is_product(step.layer) || kind == "SeparableConv2D"))
      return other("it was not trained for int8");
    if (is_product(step.layer)) return product(step);
    if (kind == "SeparableConv2D") return separable(step);
    if (kind == "BatchNormalization" && is_last_axis(step.layer, spec(step.inputs[0]).shape.rank()))
      step.kind = StepKind::batch_norm;
    else if (is_dropped(kind))
      step.kind = StepKind::nothing;
    else if (is_moved(step.layer))
      step.kind = StepKind::move;
    else if (is_elementwise(step.layer))
      step.kind = StepKind::activation;
    else if (kind == "MaxPooling2D" || kind == "GlobalMaxPooling2D")
      step.kind = StepKind::max_pool;
    else if (kind == "AveragePooling2D" || kind == "GlobalAveragePooling2D")
      step.kind = StepKind::mean_pool;
    else if (kind == "ZeroPadding2D")
      step.kind = StepKind::padding;
    else if (kind == "Concatenate")
      step.kind = StepKind::concat;
    else if (kind == "Add")
      classify_add(step);
    else
      other(fmt::format("{} has no int8 form", kind));
  }

  void classify_add(Step& step) {
    bool same = step.inputs.size() == 2 && spec(step.inputs[0]).shape == spec(step.inputs[1]).shape;
    if (same)
      step.kind = StepKind::add;
    else
      step.reason = "int8 sums are of two tensors of one shape";
  }

  void classify_op(Step& step, const SketchOp& op) {
    bool edges = std::ranges::all_of(step.inputs, [](const Operand& one) { return one.edge >= 0; });
    bool floats = edges && std::ranges::all_of(step.inputs, [&](const Operand& one) {
                    return spec(one).dtype == DType::float32;
                  });
    auto fn = op.attrs.get_or("fn", std::string());
    if (floats && op.op == "binary" && fn == "add") return classify_add(step);
    if (floats && (op.op == "reshape" || op.op == "transpose"))
      step.kind = StepKind::move;
    else
      step.reason = fmt::format("the op {}{} has no int8 form", op.op,
                                fn.empty() ? "" : fmt::format(" ({})", fn));
  }

  // With its activation apart, where it has one.
  void product(Step& step) {
    auto activation = product_config(step.layer).get_or("activation", std::string("linear"));
    if (activation == ActivationFunction::kCustom) {
      step.reason = "its activation is a function of the program";
      return;
    }
    if (int64_t products = products_of(step.layer); products > quantized::kMostProducts) {
      step.reason = fmt::format("its sums of {} products may not fit an int32", products);
      return;
    }
    step.kind = StepKind::product;
    if (activation == "linear") return;
    Parts parts = parts_of(step.layer, [&](const Layer& whole) {
      Attrs config = full_config(whole.base());
      config.set("activation", std::string("linear"));
      Layer bare = layer_from_config(whole.base().kind(), whole.name(), config);
      bare.base().ensure_built({spec(step.inputs[0]).shape});
      bare.set_weights(whole.get_weights());
      return Parts{bare, activation_layer(whole.name(), activation)};
    });
    follow(step, parts);
  }

  void separable(Step& step) {
    auto activation = step.layer.base().config().get_or("activation", std::string("linear"));
    if (activation == ActivationFunction::kCustom) {
      step.reason = "its activation is a function of the program";
      return;
    }
    step.kind = StepKind::product;
    Parts parts = parts_of(step.layer, [&](const Layer& whole) {
      Attrs config = full_config(whole.base());
      std::vector<Tensor> weights = whole.get_weights();
      Attrs depthwise = {{"use_bias", false}}, pointwise = {{"kernel_size", Ints{1, 1}}};
      for (const char* name :
           {"kernel_size", "strides", "padding", "dilation_rate", "depth_multiplier"})
        if (const Attr* attr = config.find(name)) depthwise.set(name, *attr);
      for (const char* name : {"filters", "use_bias"})
        if (const Attr* attr = config.find(name)) pointwise.set(name, *attr);
      Layer first = layer_from_config("DepthwiseConv2D", whole.name() + "_depthwise", depthwise);
      Layer second = layer_from_config("Conv2D", whole.name(), pointwise);
      Shape input = spec(step.inputs[0]).shape;
      first.base().ensure_built({input});
      first.set_weights({weights[0]});
      second.base().ensure_built({input.with(-1, weights[1].shape()[2])});
      second.set_weights({weights.begin() + 1, weights.end()});
      Parts made{first, second};
      if (activation != "linear") made.push_back(activation_layer(whole.name(), activation));
      return made;
    });
    follow(step, parts);
  }

  // Layers that do together what one does; the same for every call of it.
  using Parts = std::vector<Layer>;
  const Parts& parts_of(const Layer& whole, const std::function<Parts(const Layer&)>& make) {
    auto found = parts_.find(&whole.base());
    if (found == parts_.end()) found = parts_.emplace(&whole.base(), make(whole)).first;
    return found->second;
  }
  static Layer activation_layer(const std::string& name, const std::string& activation) {
    return Activation(activation, {.name = name + "_activation"});
  }
  void follow(Step& step, const Parts& parts) {
    step.layer = parts[0];
    step.node = nullptr;
    rest_.assign(parts.begin() + 1, parts.end());
  }

  // The step, and those of the rest of its layer.
  std::vector<int> append(Step step, const std::vector<TensorSpec>& specs) {
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

  Value sketched_like(const Operand& operand) const {
    TensorSpec whole = spec(operand);
    return sketch_input("x", {whole.dtype, whole.shape.drop_front()}, whole.shape[0]);
  }

  std::vector<int> push(Step step, const std::vector<TensorSpec>& specs) {
    int index = int(plan_.steps_.size());
    for (const TensorSpec& one : specs) step.outputs.push_back(new_edge(one, step.path, index));
    std::vector<int> outputs = step.outputs;
    plan_.steps_.push_back(std::move(step));
    return outputs;
  }

  QuantPlan& plan_;
  const PlanRequest& request_;
  std::map<const LayerBase*, Parts> parts_;
  Parts rest_;
};

QuantPlan::QuantPlan(const Model& model, const PlanRequest& request) {
  check_names(model, request.layers, request.action);
  check_names(model, request.exclude, request.action);
  const Topology& topology = ModelAccess::base(model).topology(request.action);
  inputs_ = topology.inputs;
  input_names_ = topology.input_names;
  PlanBuilder8 builder(*this, request);
  std::vector<int> given;
  for (size_t i = 0; i < topology.inputs.size(); ++i)
    given.push_back(builder.new_edge(topology.inputs[i].spec(), topology.input_names[i], -1));
  outputs_ = builder.open(ModelAccess::base(model), "", given);
  link();
  take_followers();
  choose(request);
  unite_scales();
}

// --- what belongs together -------------------------------------------------------------------------

void QuantPlan::link() {
  for (EdgeInfo& edge : edges_) edge.readers.clear();
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].taken) continue;
    for (const auto& list : {steps_[i].inputs, steps_[i].masks})
      for (const Operand& one : list)
        if (one.edge >= 0) edges_[size_t(one.edge)].readers.push_back(int(i));
  }
  for (int edge : outputs_) edges_[size_t(edge)].is_output = true;
}

int64_t QuantPlan::calls_of(const Layer& layer) const {
  return std::ranges::count_if(steps_, [&](const Step& step) {
    return step.layer.shared() != nullptr && step.layer == layer;
  });
}

bool QuantPlan::follows_alone(int edge) const {
  return edges_[size_t(edge)].readers.size() == 1 && !edges_[size_t(edge)].is_output;
}

void QuantPlan::take_followers() {
  for (Step& step : steps_) {
    bool takes = step.kind == StepKind::product || step.kind == StepKind::add;
    while (takes && !step.activation.shared() && follows_alone(step.outputs[0])) {
      Step& next = steps_[size_t(edges_[size_t(step.outputs[0])].readers[0])];
      bool once = step.layer.shared() != nullptr && calls_of(step.layer) == 1;
      if (next.kind == StepKind::batch_norm && step.kind == StepKind::product && once &&
          !step.batch_norm.shared() && calls_of(next.layer) == 1) {
        step.batch_norm = next.layer;
        step.batch_norm_path = next.path;
      } else if (next.kind == StepKind::activation && clip_of(next.layer) &&
                 (once || step.kind == StepKind::add || next.path == step.path)) {
        step.activation = next.layer;
        step.activation_path = next.path;
        step.clip = clip_of(next.layer);
      } else {
        break;
      }
      next.taken = true;
      step.outputs = next.outputs;
      edges_[size_t(step.outputs[0])].maker = int(&step - steps_.data());
    }
  }
  link();
}

// --- what runs in int8 -----------------------------------------------------------------------------

void QuantPlan::choose(const PlanRequest& request) {
  auto asked = [&](const Step& step) { return names_it(request.layers, step.path); };
  // Whether a step could run in int8 if what reads it wanted that.
  auto able = [&](const Step& step) -> std::string {
    if (step.kind == StepKind::other) return step.reason;
    if (names_it(request.exclude, step.path)) return "is in .exclude";
    if (step.kind == StepKind::product && !request.layers.empty() && !asked(step))
      return "is not in .layers";
    if (step.kind == StepKind::batch_norm && edges_[size_t(step.outputs[0])].spec.shape.rank() != 4)
      return "batch normalisation that no layer before it can take, of vectors";
    return {};
  };
  std::vector<bool> can(steps_.size(), false), wanted(edges_.size(), false);
  auto made_in_int8 = [&](int edge) {
    int maker = edges_[size_t(edge)].maker;
    return maker >= 0 && can[size_t(maker)];
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.taken || !able(step).empty()) continue;
    bool moves = step.kind >= StepKind::padding;
    can[i] = step.kind == StepKind::product || moves ||
             std::ranges::all_of(step.inputs,
                                 [&](const Operand& one) { return made_in_int8(one.edge); });
  }
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    if (step.taken) continue;
    step.int8 = can[i] && (step.kind == StepKind::product || wanted[size_t(step.outputs[0])]);
    if (step.int8)
      for (const Operand& one : step.inputs) wanted[size_t(one.edge)] = true;
  }
  for (const Step& step : steps_) {
    if (step.taken || step.int8) continue;
    std::string reason = able(step);
    if (asked(step) && !reason.empty() && step.kind == StepKind::other)
      throw ValueError(
          fmt::format("{}: layer \"{}\" cannot be int8: {}", request.action, step.path, reason));
    if (reason.empty() && step.kind == StepKind::nothing) continue;
    if (reason.empty()) reason = "nothing behind it runs in int8, or what it reads is float";
    bool known = std::ranges::any_of(in_float_, [&](const KeptInFloat& one) {
      return one.layer == step.path && one.reason == reason;
    });
    if (!known) in_float_.push_back({step.path, reason});
  }
  for (size_t edge = 0; edge < edges_.size(); ++edge) edges_[edge].stored = wanted[edge];
}

int QuantPlan::group_of(int edge) const {
  while (edges_[size_t(edge)].group != edge) edge = edges_[size_t(edge)].group;
  return edge;
}

void QuantPlan::unite(int a, int b) {
  int first = group_of(a), second = group_of(b);
  edges_[size_t(std::max(first, second))].group = std::min(first, second);
}

void QuantPlan::unite_scales() {
  for (size_t i = 0; i < edges_.size(); ++i) edges_[i].group = int(i);
  std::map<const LayerBase*, const Step*> first;
  for (const Step& step : steps_) {
    if (step.taken || !step.int8) continue;
    if (step.kind >= StepKind::max_pool)
      for (const Operand& one : step.inputs) unite(one.edge, step.outputs[0]);
    if (step.kind != StepKind::product) continue;
    auto [found, fresh] = first.emplace(&step.layer.base(), &step);
    if (fresh) continue;  // called again: one layer has one set of scales
    unite(found->second->inputs[0].edge, step.inputs[0].edge);
    unite(found->second->outputs[0], step.outputs[0]);
  }
}

// --- running a plan --------------------------------------------------------------------------------

Value PlanWalk::operand(const Operand& operand) {
  if (operand.edge >= 0) return at(operand.edge);
  return operand.value.variable() ? Value(weight_for(*operand.value.variable())) : operand.value;
}

void PlanWalk::call(const Step& step) {
  Values inputs, results;
  for (const Operand& one : step.inputs) inputs.push_back(operand(one));
  if (step.layer.shared() == nullptr) {
    const auto& op = std::get<SketchOp>(step.node->what);
    results = stoker::apply(op.op, inputs, op.attrs);
  } else {
    CallOptions options;
    if (const LayerCall* call = step.node == nullptr ? nullptr : call_of(*step.node)) {
      options.training = call->training;
      options.arguments = call->arguments;
      if (!step.masks.empty()) options.mask.resize(inputs.size());
      for (size_t i = 0; i < step.masks.size(); ++i)
        options.mask[call->masked[i]] = operand(step.masks[i]);
    }
    results = layer_for(step.layer, step.path).call_all(inputs, options);
  }
  if (step.batch_norm.shared())
    results = {layer_for(step.batch_norm, step.batch_norm_path)(results[0])};
  if (step.activation.shared())
    results = {layer_for(step.activation, step.activation_path)(results[0])};
  for (size_t i = 0; i < results.size(); ++i) values_[step.outputs[i]] = results[i];
}

}  // namespace stoker::compress
