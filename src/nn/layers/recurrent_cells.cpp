// SimpleRNNCell, LSTMCell, GRUCell, StackedRNNCells.
#include "nn/layers/recurrent_cells.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/layers/families.h"

namespace stoker {

// --- what they share -----------------------------------------------------------------------------

std::vector<Shape> GatedCell::state_size() const { return {{units_}}; }

void GatedCell::build(const std::vector<Shape>& inputs) {
  if (inputs.empty() || inputs[0].rank() != 2)
    fail_input("2-D input [B, features] for a step", inputs.empty() ? Shape() : inputs[0]);
  int64_t columns = options_.gates * units_;
  kernel_ = add_weight(
      "kernel", {inputs[0][-1], columns},
      {options_.kernel_initializer, options_.kernel_regularizer, options_.kernel_constraint});
  recurrent_kernel_ = add_weight("recurrent_kernel", {units_, columns},
                                 {options_.recurrent_initializer, options_.recurrent_regularizer,
                                  options_.recurrent_constraint});
  if (!options_.use_bias) return;
  bias_ =
      add_weight("bias", options_.bias,
                 {options_.bias_initializer, options_.bias_regularizer, options_.bias_constraint});
  start_bias();
}

// Ones of which some are dropped, the rest scaled. As Keras: with dropout of the state every gate
// has masks of its own.
Values GatedCell::masks(double rate, const Shape& shape, CallContext& context) const {
  if (rate <= 0 || rate >= 1 || !context.training()) return {};
  Values made;
  int64_t count = options_.recurrent_dropout > 0 ? options_.gates : 1;
  Value ones = ops::broadcast_to(Value(Tensor::full({}, 1)), shape);
  for (int64_t i = 0; i < count; ++i)
    made.push_back(ops::dropout(ones, context.random_state(), rate, context.next_stream()));
  return made;
}

void GatedCell::begin_sequence(int64_t batch, CallContext& context) {
  input_masks_ = masks(options_.dropout, {batch, kernel_.shape()[0]}, context);
  state_masks_ = masks(options_.recurrent_dropout, {batch, units_}, context);
  in_sequence_ = true;
}

void GatedCell::end_sequence() {
  input_masks_.clear();
  state_masks_.clear();
  in_sequence_ = false;
}

namespace {

Value columns(const Value& matrix, int64_t first, int64_t count) {
  std::vector<int64_t> begin(size_t(matrix.shape().rank()), 0), size(begin.size(), -1);
  begin.back() = first;
  size.back() = count;
  return first == 0 && count == matrix.shape()[-1] ? matrix : ops::slice(matrix, begin, size);
}

}  // namespace

Value GatedCell::product(const Value& x, const Variable& matrix, const Values& masks, int64_t first,
                         int64_t last) const {
  if (masks.size() <= 1) {
    Value kept = masks.empty() ? x : x * masks[0];
    return ops::matmul(kept, columns(matrix, first * units_, (last - first) * units_));
  }
  Values parts;
  for (int64_t gate = first; gate < last; ++gate)
    parts.push_back(ops::matmul(x * masks[size_t(gate)], columns(matrix, gate * units_, units_)));
  return ops::concatenate(parts, -1);
}

Value GatedCell::dropped(const Value& x) const {
  return input_masks_.empty() ? x : x * ops::expand_dims(input_masks_[0], 1);
}

Value GatedCell::project(const Value& x) const {
  if (x.shape()[-1] != kernel_.shape()[0])
    fail_input(fmt::format("input [.., {}], which it was built for", kernel_.shape()[0]),
               x.shape());
  Value projected = product(x, kernel_, input_masks_, 0, options_.gates);
  return options_.use_bias ? projected + input_bias() : projected;
}

Value GatedCell::recur(const Value& h, int64_t first, int64_t last) const {
  return product(h, recurrent_kernel_, state_masks_, first, last);
}

FusedCell GatedCell::as_fused(const std::string& cell) const {
  return {cell, kernel_, recurrent_kernel_,
          options_.use_bias ? Value(bias_) : Value(Tensor::zeros(options_.bias))};
}

Values GatedCell::call(const Values& inputs, CallContext& context) {
  if (inputs.size() != 1 + state_size().size())
    fail_input(fmt::format("expected an input and {} states, got {} values", state_size().size(),
                           inputs.size()));
  bool alone = !in_sequence_;
  if (alone) begin_sequence(inputs[0].shape()[0], context);
  Values states = advance(project(inputs[0]), Values(inputs.begin() + 1, inputs.end()));
  if (alone) end_sequence();
  states.insert(states.begin(), states[0]);
  return states;
}

// --- the cells -----------------------------------------------------------------------------------

Fields<SimpleRNNCellConfig> SimpleRNNCellConfig::fields() {
  using C = SimpleRNNCellConfig;
  return Fields<C>{{"units", &C::units, {.check = at_least(1), .required = true}},
                   {"activation", &C::activation}}
      .then(gated_fields<C>());
}

Fields<LSTMCellConfig> LSTMCellConfig::fields() {
  using C = LSTMCellConfig;
  return Fields<C>{{"units", &C::units, {.check = at_least(1), .required = true}},
                   {"activation", &C::activation},
                   {"recurrent_activation", &C::recurrent_activation},
                   {"unit_forget_bias", &C::unit_forget_bias}}
      .then(gated_fields<C>());
}

Fields<GRUCellConfig> GRUCellConfig::fields() {
  using C = GRUCellConfig;
  return Fields<C>{{"units", &C::units, {.check = at_least(1), .required = true}},
                   {"activation", &C::activation},
                   {"recurrent_activation", &C::recurrent_activation},
                   {"reset_after", &C::reset_after}}
      .then(gated_fields<C>());
}

namespace {

// Base takes a Config: gates, and the shape of the bias.
struct SimpleBase : GatedCell {
  explicit SimpleBase(const SimpleRNNCellConfig& config) : GatedCell(config, 1, {config.units}) {}
};
struct LstmBase : GatedCell {
  explicit LstmBase(const LSTMCellConfig& config) : GatedCell(config, 4, {4 * config.units}) {}
};
struct GruBase : GatedCell {
  explicit GruBase(const GRUCellConfig& config)
      : GatedCell(config, 3,
                  config.reset_after ? Shape{2, 3 * config.units} : Shape{3 * config.units}) {}
};

class SimpleRNNCellLayer : public Configured<SimpleBase, SimpleRNNCellConfig> {
 public:
  using Configured::Configured;

  Values advance(const Value& projected, const Values& states) const override {
    return {options().activation(projected + recur(states[0]))};
  }
  std::optional<FusedCell> fused() const override {
    const std::string& name = options().activation.name();
    if (name != "tanh" && name != "relu") return {};
    return as_fused("rnn_" + name);
  }
};

class LSTMCellLayer : public Configured<LstmBase, LSTMCellConfig> {
 public:
  using Configured::Configured;

  std::vector<Shape> state_size() const override { return {{units()}, {units()}}; }

  Values advance(const Value& projected, const Values& states) const override {
    Values gates = ops::split(projected + recur(states[0]), 4, -1);
    const auto& recurrent = options().recurrent_activation;
    Value in = recurrent(gates[0]), forget = recurrent(gates[1]), out = recurrent(gates[3]);
    Value c = forget * states[1] + in * options().activation(gates[2]);
    return {out * options().activation(c), c};
  }
  std::optional<FusedCell> fused() const override {
    if (options().activation.name() != "tanh" || options().recurrent_activation.name() != "sigmoid")
      return {};
    return as_fused("lstm");
  }

 private:
  void start_bias() override {
    if (!options().unit_forget_bias) return;
    Tensor bias = bias_.read();
    for (int64_t i = units(); i < 2 * units(); ++i) bias.data_mut<float>()[i] = 1;
    bias_.write(bias);
  }
};

class GRUCellLayer : public Configured<GruBase, GRUCellConfig> {
 public:
  using Configured::Configured;

  Values advance(const Value& projected, const Values& states) const override {
    const Value& h = states[0];
    Values x = ops::split(projected, 3, -1);
    Value z, r, candidate;
    const auto& recurrent = options().recurrent_activation;
    if (options().reset_after) {
      Value product = recur(h);
      if (uses_bias()) product = product + row_of_bias(1);
      Values inner = ops::split(product, 3, -1);
      z = recurrent(x[0] + inner[0]);
      r = recurrent(x[1] + inner[1]);
      candidate = options().activation(x[2] + r * inner[2]);
    } else {
      Values inner = ops::split(recur(h, 0, 2), 2, -1);
      z = recurrent(x[0] + inner[0]);
      r = recurrent(x[1] + inner[1]);
      candidate = options().activation(x[2] + recur(r * h, 2, 3));
    }
    return {z * h + (1 - z) * candidate};
  }
  std::optional<FusedCell> fused() const override {
    if (!options().reset_after || options().activation.name() != "tanh" ||
        options().recurrent_activation.name() != "sigmoid")
      return {};
    return as_fused("gru");
  }

 private:
  Value row_of_bias(int64_t row) const {
    return ops::reshape(ops::slice(bias_, {row, 0}, {1, -1}), {3 * units()});
  }
  Value input_bias() const override { return options().reset_after ? row_of_bias(0) : bias_; }
};

}  // namespace

std::shared_ptr<GatedCell> make_cell(const SimpleRNNCellConfig& config) {
  return std::make_shared<SimpleRNNCellLayer>(config);
}
std::shared_ptr<GatedCell> make_cell(const LSTMCellConfig& config) {
  return std::make_shared<LSTMCellLayer>(config);
}
std::shared_ptr<GatedCell> make_cell(const GRUCellConfig& config) {
  return std::make_shared<GRUCellLayer>(config);
}

SimpleRNNCell::SimpleRNNCell(int64_t units, const SimpleRNNCellOptions& options)
    : Layer(configured<SimpleRNNCellLayer>({options, units})) {}
LSTMCell::LSTMCell(int64_t units, const LSTMCellOptions& options)
    : Layer(configured<LSTMCellLayer>({options, units})) {}
GRUCell::GRUCell(int64_t units, const GRUCellOptions& options)
    : Layer(configured<GRUCellLayer>({options, units})) {}

// --- stacked -------------------------------------------------------------------------------------

std::shared_ptr<RNNCell> cell_of(const Layer& layer, const std::string& owner) {
  auto cell = std::dynamic_pointer_cast<RNNCell>(layer.shared());
  if (cell == nullptr)
    throw ValueError(fmt::format(
        "{}: expected a cell (SimpleRNNCell, LSTMCell, GRUCell, StackedRNNCells or a class derived "
        "from RNNCell), got {}",
        owner, layer.shared() == nullptr ? "an empty Layer" : layer.base().kind()));
  return cell;
}

StackedCells::StackedCells(const std::vector<Layer>& cells, const std::string& name)
    : cells_(cells) {
  LayerBase::set_name(name);
  if (cells.empty()) fail_option("expected at least one cell, got none");
  for (const Layer& cell : cells) cell_of(cell, title());
}

Attrs StackedCells::config() const {
  Attrs attrs = {{"cells", int64_t(cells_.size())}};
  for (size_t i = 0; i < cells_.size(); ++i) {
    std::string entry = fmt::format("cell_{}", i);
    attrs.set(entry, cells_[i].base().kind());
    fields::put_nested(attrs, entry, full_config(cells_[i].base()));
  }
  return attrs;
}

std::vector<Shape> StackedCells::state_size() const {
  std::vector<Shape> all;
  for (const Layer& layer : cells_) {
    std::vector<Shape> one = cell_of(layer, title())->state_size();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// A cell's output is like its first state, as Keras assumes.
void StackedCells::build(const std::vector<Shape>& inputs) {
  Shape step = inputs[0];
  for (const Layer& layer : cells_) {
    layer.base().ensure_built({step});
    step = cell_of(layer, title())->state_size()[0].prepend(step[0]);
  }
}

Values StackedCells::call(const Values& inputs, CallContext&) {
  if (inputs.size() != 1 + state_size().size())
    fail_input(fmt::format("expected an input and {} states, got {} values", state_size().size(),
                           inputs.size()));
  Values made = {inputs[0]};
  auto next = inputs.begin() + 1;
  for (const Layer& layer : cells_) {
    auto states = long(cell_of(layer, title())->state_size().size());
    Values operands = {made[0]};
    operands.insert(operands.end(), next, next + states);
    next += states;
    Values results = layer.call_all(operands);
    made[0] = results[0];
    made.insert(made.end(), results.begin() + 1, results.end());
  }
  return made;
}

StackedRNNCells::StackedRNNCells(const std::vector<Layer>& cells, const LayerOptions& options)
    : Layer(std::make_shared<StackedCells>(cells, options.name), options.dtype) {}

void add_recurrent_cells(LayerKinds& kinds) {
  add_layer<SimpleRNNCellLayer>(kinds);
  add_layer<LSTMCellLayer>(kinds);
  add_layer<GRUCellLayer>(kinds);
  auto wrap = [](const Attrs& attrs, const LayerFactories& custom) {
    std::vector<Layer> cells;
    for (int64_t i = 0; i < attrs.get<int64_t>("cells"); ++i) {
      std::string entry = fmt::format("cell_{}", i);
      Attrs inner = fields::nested(attrs, entry);
      cells.push_back(layer_from_config(attrs.get<std::string>(entry),
                                        inner.get_or("name", std::string()), inner, custom));
    }
    return StackedRNNCells(cells, {.name = attrs.get_or("name", std::string())});
  };
  kinds["StackedRNNCells"] = {.wrap = wrap, .is = is_exactly<StackedCells>};
}

}  // namespace stoker
