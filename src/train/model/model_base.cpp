#include "train/model/model_base.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/remat.h>

#include "graph/graph.h"
#include "graph/placement.h"
#include "nn/layer_tree.h"
#include "nn/layers/input_layer.h"
#include "nn/masks.h"
#include "nn/targets.h"
#include "train/files/model_config.h"
#include "train/model/input_advice.h"
#include "train/model/trainer.h"

namespace stoker {

namespace {

// What a Sequential without an Input makes of the first shape it meets: ids for an embedding, else
// numbers.
DType first_dtype(const Layer& first) {
  return first.base().kind() == "Embedding" ? DType::int32 : DType::float32;
}

bool lacks_last_dimension(const Shape& given, const Shape& row) {
  return given.rank() == row.rank() && row.rank() > 0 && row[-1] == 1 &&
         fits(given.drop_front(), without_last(row));
}

template <class Get>
std::vector<Variable> from_layers(const std::vector<Layer>& layers, Get get) {
  std::vector<Variable> all;
  for (const Layer& layer : layers) {
    std::vector<Variable> more = get(layer.base());
    all.insert(all.end(), more.begin(), more.end());
  }
  return each_once(all);
}

}  // namespace

ModelBase::ModelBase(const Values& inputs, const Values& outputs, std::string name)
    : trainer(std::make_unique<Trainer>()),
      sequential_(false),
      topology_(make_topology(inputs, outputs)) {
  set_remat({.mode = ""});  // a RematScope is for its layers
  set_name(std::move(name));
  ensure_built({});
}

ModelBase::ModelBase(const std::vector<Layer>& layers, std::string name)
    : trainer(std::make_unique<Trainer>()), sequential_(true) {
  set_remat({.mode = ""});
  set_name(std::move(name));
  for (const Layer& layer : layers) add(layer);
}

ModelBase::ModelBase(const Value& input, const std::vector<Layer>& layers, std::string name)
    : ModelBase(layers, std::move(name)) {
  connect(input);
}

ModelBase::~ModelBase() = default;

void ModelBase::add(const Layer& layer) {
  if (layer.shared() == nullptr) throw ValueError(title() + ": an empty Layer was added");
  Use use(trainer->gate, "add", UseMode::alone);
  if (trainer->compiled) throw Error(title() + ": a layer cannot be added after compile()");
  if (layer.shared().get() == this)
    throw ValueError(title() + ": a model cannot be part of itself");
  auto* input = dynamic_cast<InputLayer*>(&layer.base());
  if (input != nullptr) {
    if (!list_.empty() || connected())
      throw ValueError(fmt::format("{}: Input(…) must be its first element", title()));
    topology_ = make_topology({input->value()}, {input->value()});
    return;
  }
  forget_programs();
  list_.push_back(layer);
  try {
    name_layers(list_);
    const ModelBase* inner = ModelAccess::base(layer);
    if (connected())
      connect(topology_.inputs[0]);
    else if (list_.size() == 1 && inner != nullptr && inner->connected())
      connect(sketch_input("input_layer", inner->topology_.input_row(0)));
  } catch (...) {
    list_.pop_back();
    throw;
  }
}

Layer ModelBase::pop() {
  Use use(trainer->gate, "pop", UseMode::alone);
  if (list_.empty()) throw Error(title() + ": there is no layer to remove");
  if (trainer->compiled) throw Error(title() + ": a layer cannot be removed after compile()");
  forget_programs();
  Layer last = list_.back();
  list_.pop_back();
  if (!connected()) return last;
  if (list_.empty())
    topology_ = make_topology(topology_.inputs, topology_.inputs);
  else
    connect(topology_.inputs[0]);
  return last;
}

void ModelBase::forget_programs() {
  trainer->programs.clear();
  trainer->lanes.clear();
  trainer->traced_call.reset();
  trainer->generator.reset();
}

// Draws the chain anew: a layer's first call fixed its weights, so that nothing is built twice.
void ModelBase::connect(const Value& input) {
  Value x = input;
  for (const Layer& layer : list_) x = layer(x);
  topology_ = make_topology({input}, {x});
  ensure_built({});
}

void ModelBase::build(const std::vector<Shape>& inputs) {
  if (connected()) return;
  if (list_.empty()) throw Error(title() + ": a model without layers was called");
  if (inputs.size() != 1 || inputs[0].rank() == 0)
    throw ShapeError(fmt::format("{}: expected 1 input [B, …], got {}", title(), inputs.size()));
  connect(sketch_input("input_layer", {first_dtype(list_[0]), inputs[0].drop_front()}));
}

Values ModelBase::call(const Values& inputs, CallContext& context) {
  const Topology& drawn = topology("call");
  if (inputs.size() != drawn.inputs.size())
    throw ValueError(
        fmt::format("{}: expected {} inputs, got {}", title(), drawn.inputs.size(), inputs.size()));
  Values adapted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    adapted.push_back(adapt_input(inputs[i], drawn.input_row(i), title(), drawn.input_names[i]));
    if (!context.mask(i).defined()) continue;
    adapted[i] = place(context.graph(), adapted[i]);
    context.set_mask(adapted[i], context.mask(i));
  }
  return replay(context.graph(), drawn.inputs, adapted, drawn.outputs);
}

Attrs ModelBase::config() const { return model_config(*this); }

void ModelBase::set_trainable(bool trainable) {
  LayerBase::set_trainable(trainable);
  for (const Layer& layer : layers()) layer.set_trainable(trainable);
}

void ModelBase::set_owner(std::string owner) {
  bool free = owner.empty();
  LayerBase::set_owner(std::move(owner));
  bool unused = !trainer->compiled && trainer->programs.size() == 0;
  names_layers_ |= !free && unused && trainable();
  own_layers(free ? "" : path());
  names_layers_ &= !free;
}

void ModelBase::set_name(std::string name) {
  LayerBase::set_name(std::move(name));
  own_layers(path());
}

void ModelBase::own_layers(const std::string& path) {
  if (!names_layers_) return;
  for (const Layer& layer : layers()) layer.base().set_owner(path);
}

std::vector<Variable> ModelBase::weights() const {
  return from_layers(layers(), [](const LayerBase& layer) { return layer.weights(); });
}

std::vector<Variable> ModelBase::trainable_weights() const {
  return from_layers(layers(), [](const LayerBase& layer) { return layer.trainable_weights(); });
}

const Topology& ModelBase::topology(const char* action) const {
  if (!connected())
    throw Error(fmt::format(
        "{}: {} needs the shape of its input; begin the list with Input(…), or train first",
        title(), action));
  return topology_;
}

std::vector<std::shared_ptr<LayerBase>> ModelBase::leaves() const {
  std::vector<std::shared_ptr<LayerBase>> all;
  for (const Descendant& inner : descendants(*this))
    if (ModelAccess::base(inner.layer) == nullptr) all.push_back(inner.layer.shared());
  return all;
}

std::string ModelBase::title() const { return fmt::format("{} \"{}\"", kind(), label()); }

void check_input(const TensorSpec& given, const TensorSpec& row, const std::string& who,
                 const std::string& name) {
  const Shape& shape = given.shape;
  bool good = shape.rank() > 0 &&
              (fits(shape.drop_front(), row.shape) || lacks_last_dimension(shape, row.shape));
  if (given.dtype == DType::bytes && row.dtype != DType::bytes)
    throw ShapeError(fmt::format(
        "{}: input \"{}\" expects {}, got texts, {}; make numbers of them first: "
        "text::TextVectorization, text::StringLookup",
        who, name, to_string(TensorSpec{row.dtype, row.shape.prepend(-1)}), to_string(given)));
  if (!good || (given.dtype == DType::bytes) != (row.dtype == DType::bytes))
    throw ShapeError(fmt::format("{}: input \"{}\" expects {}, got {}{}", who, name,
                                 to_string(TensorSpec{row.dtype, row.shape.prepend(-1)}),
                                 to_string(given), input_advice(shape, row.shape)));
}

Value adapt_input(const Value& given, const TensorSpec& row, const std::string& who,
                  const std::string& name) {
  check_input(given.spec(), row, who, name);
  Value value = given;
  if (value.shape().rank() != row.shape.rank() + 1) value = ops::expand_dims(value, -1);
  if (value.dtype() != row.dtype) value = ops::cast(value, row.dtype);
  if (given.traced() && value.traced()) copy_mask(given, value);
  return value;
}

}  // namespace stoker
