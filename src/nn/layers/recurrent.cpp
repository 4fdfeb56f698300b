#include "nn/layers/recurrent.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/graph.h"
#include "graph/sketch.h"
#include "nn/layer_tree.h"

namespace stoker {

namespace {

// [B, T, …] ↔ [T, B, …]
Value swapped(const Value& x) {
  std::vector<int64_t> perm;
  for (int64_t axis = 0; axis < x.shape().rank(); ++axis) perm.push_back(axis);
  std::swap(perm[0], perm[1]);
  return ops::transpose(x, perm);
}

// [T, …] from the last to the first.
Value flipped(const Value& x) {
  std::vector<int64_t> order;
  for (int64_t step = x.shape()[0]; step-- > 0;) order.push_back(step);
  return ops::gather(x, Value(Tensor::from(order, {int64_t(order.size())})));
}

// A mask [B] that broadcasts against [B, …].
Value beside(const Value& mask, const Shape& shape) {
  std::vector<int64_t> extents(size_t(shape.rank()), 1);
  extents[0] = mask.shape()[0];
  return ops::reshape(mask, Shape(std::span<const int64_t>(extents)));
}

Value zeros_like(const TensorSpec& spec) {
  return ops::broadcast_to(Value(Tensor::zeros({}, spec.dtype)), spec.shape);
}

// What a step gives, found by tracing one that is thrown away.
using Step = std::function<Values(const Value& x, const Values& states)>;
TensorSpec output_spec(Graph& graph, const Step& step, const Value& x, const Values& states) {
  Graph trial;
  Values inputs;
  Value slice = trial.input("x", {x.dtype(), x.shape().drop_front()});
  for (const Value& state : states) inputs.push_back(trial.input("state", state.spec()));
  trial.begin_body(graph);
  Graph::Scope scope(trial, graph.scope());
  return step(slice, inputs).at(0).spec();
}

// Draws what dropout drops, and forgets it at the end.
class SequenceScope {
 public:
  SequenceScope(RNNCell& cell, int64_t batch, CallContext& context) {
    add(cell);
    for (SequenceCell* inner : cells_) inner->begin_sequence(batch, context);
  }
  ~SequenceScope() {
    for (SequenceCell* inner : cells_) inner->end_sequence();
  }
  SequenceScope(const SequenceScope&) = delete;
  SequenceScope& operator=(const SequenceScope&) = delete;

 private:
  void add(RNNCell& cell) {
    if (auto* own = dynamic_cast<SequenceCell*>(&cell)) cells_.push_back(own);
    if (auto* stacked = dynamic_cast<StackedCells*>(&cell))
      for (const Layer& inner : stacked->cells()) add(static_cast<RNNCell&>(inner.base()));
  }
  std::vector<SequenceCell*> cells_;
};

}  // namespace

RecurrentLayer::RecurrentLayer(std::shared_ptr<RNNCell> cell, const SequenceOptions& options,
                               const std::string& name)
    : cell_(std::move(cell)), options_(options) {
  LayerBase::set_name(name);
}

void RecurrentLayer::check_input(const Shape& x) const {
  if (x.rank() < 3)
    fail_input("input of 3 or more dimensions, [B, T, features]", x,
               x.rank() == 2 ? "add Embedding before it if these are ids, or Reshape({T, 1}) if "
                               "every step is one number"
                             : "");
}

void RecurrentLayer::build(const std::vector<Shape>& inputs) {
  check_input(inputs[0]);
  adopt(cell_);
  std::vector<int64_t> step = {inputs[0][0]};
  for (int axis = 2; axis < inputs[0].rank(); ++axis) step.push_back(inputs[0][axis]);
  cell_->ensure_built({Shape(std::span<const int64_t>(step))});
  if (!options_.stateful) return;
  if (is_trial_batch(inputs[0][0]))
    fail_option(
        "stateful = true keeps states from batch to batch, and needs to know how many; give the "
        "batch size to the model's input: Input(shape, {.batch_size = 32})");
  for (const Shape& state : cell_->state_size())
    states_.push_back(
        add_weight(states_.empty() ? "rnn_state" : fmt::format("rnn_state_{}", states_.size()),
                   state.prepend(inputs[0][0]), {.initializer = "zeros", .trainable = false}));
}

Values RecurrentLayer::initial_states(const Values& inputs, CallContext& context,
                                      bool& given) const {
  std::vector<Shape> sizes = cell_->state_size();
  int64_t batch = inputs[0].shape()[0];
  given = inputs.size() > 1 || options_.stateful;
  if (inputs.size() > 1) {
    if (inputs.size() != 1 + sizes.size())
      fail_input(fmt::format("expected the sequence and {} initial states, got {} values",
                             sizes.size(), inputs.size()));
    for (size_t i = 0; i < sizes.size(); ++i)
      if (inputs[i + 1].shape() != sizes[i].prepend(batch))
        fail_input(fmt::format("an initial state {}", to_string(sizes[i].prepend(batch))),
                   inputs[i + 1].shape());
    return {inputs.begin() + 1, inputs.end()};
  }
  Values states;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (options_.stateful && states_[i].shape()[0] != batch)
      fail_input(fmt::format(
          "it is stateful with states for batches of {}, got a batch of {}; all batches need one "
          "size: use batch(n, {{.drop_remainder = true}})",
          states_[i].shape()[0], batch));
    states.push_back(options_.stateful ? context.current(states_[i])
                                       : zeros_like({DType::float32, sizes[i].prepend(batch)}));
  }
  return states;
}

Value RecurrentLayer::at_last_step(const Value& outputs) const {
  std::vector<int64_t> begin(size_t(outputs.shape().rank()), 0), size(begin.size(), -1);
  begin[1] = options_.go_backwards ? 0 : outputs.shape()[1] - 1;
  size[1] = 1;
  return ops::squeeze(ops::slice(outputs, begin, size), 1);
}

RecurrentLayer::Result RecurrentLayer::run_fused(const Run& run, const FusedCell& fused,
                                                 CallContext& context) const {
  const auto& cell = static_cast<const GatedCell&>(*cell_);
  cell.add_penalties(context.graph());
  ops::RecurrentResult made = ops::recurrent(
      cell.dropped(run.x), fused.kernel, fused.recurrent_kernel, fused.bias, run.states, run.mask,
      {.cell = fused.cell,
       .reverse = options_.go_backwards,
       .zero_masked = options_.zero_output_for_mask});
  bool is_state = !run.mask.defined() || (!run.given_states && !options_.zero_output_for_mask);
  return {made.outputs, is_state ? made.states[0] : at_last_step(made.outputs), made.states};
}

// Carries: the states and, where masked steps repeat it, the output before.
RecurrentLayer::Result RecurrentLayer::run_loop(const Run& run, CallContext& context) {
  auto* gated = dynamic_cast<SequenceCell*>(cell_.get());
  Layer cell(cell_);
  auto step = [&](const Value& x, const Values& states) {
    if (gated != nullptr) {
      Values made = gated->advance(x, states);
      made.insert(made.begin(), made[0]);
      return made;
    }
    Values operands = {x};
    operands.insert(operands.end(), states.begin(), states.end());
    return cell.call_all(operands);
  };
  if (gated != nullptr) gated->add_penalties(context.graph());
  Value x = swapped(run.x);
  if (gated != nullptr) x = gated->project(x);
  Values carry, sequences = {x};
  for (const Value& state : run.states)
    carry.push_back(
        is_floating(state.dtype()) && is_floating(x.dtype()) ? ops::cast(state, x.dtype()) : state);
  size_t count = carry.size();
  bool masked = run.mask.defined(), repeats = masked && !options_.zero_output_for_mask;
  if (masked) sequences.push_back(swapped(run.mask));
  if (repeats) carry.push_back(zeros_like(output_spec(context.graph(), step, x, carry)));
  ops::ScanResult made = ops::scan(
      [&](const Values& before, const Values& slices) {
        Values states(before.begin(), before.begin() + long(count));
        Values results = step(slices[0], states);
        if (results.size() != 1 + count)
          fail_input(fmt::format("its cell gives {} values, expected the output and {} states",
                                 results.size(), count));
        Value output = results[0];
        Values next(results.begin() + 1, results.end());
        if (masked) {
          for (size_t i = 0; i < count; ++i)
            next[i] = ops::where(beside(slices[1], states[i].shape()),
                                 ops::cast(next[i], states[i].dtype()), states[i]);
          Value counts = beside(slices[1], output.shape());
          output = ops::where(counts, output, repeats ? before.back() : zeros_like(output.spec()));
        }
        if (repeats) next.push_back(output);
        return ops::ScanStep{next, {output}};
      },
      carry, sequences, {.reverse = options_.go_backwards});
  made.carry.resize(count);
  Value outputs = swapped(made.outputs[0]);
  return {outputs, at_last_step(outputs), made.carry};
}

Values RecurrentLayer::call(const Values& inputs, CallContext& context) {
  check_input(inputs[0].shape());
  if (!is_floating(inputs[0].dtype()) && dynamic_cast<SequenceCell*>(cell_.get()))
    fail_input(fmt::format("expected float input, got {}; add Embedding before it if these are ids",
                           to_string(inputs[0].spec())));
  Run run{inputs[0], context.mask(), {}, false};
  run.states = initial_states(inputs, context, run.given_states);
  SequenceScope scope(*cell_, inputs[0].shape()[0], context);
  auto* gated = dynamic_cast<GatedCell*>(cell_.get());
  std::optional<FusedCell> fused;
  if (gated != nullptr && !gated->drops_states() && inputs[0].shape().rank() == 3)
    fused = gated->fused();
  Result made = fused ? run_fused(run, *fused, context) : run_loop(run, context);
  for (size_t i = 0; i < states_.size(); ++i) context.update(states_[i], made.states[i]);

  Value output = options_.return_sequences ? made.outputs : made.last;
  if (options_.return_sequences && options_.go_backwards && !time_order_)
    output = swapped(flipped(swapped(output)));
  if (options_.activity_regularizer)
    context.add_loss(options_.activity_regularizer(output) / double(output.shape()[0]));
  Values results = {output};
  if (options_.return_state) results.insert(results.end(), made.states.begin(), made.states.end());
  return results;
}

Values RecurrentLayer::compute_mask(const Values&, const Values& masks) const {
  return {options_.return_sequences && !masks.empty() ? masks[0] : Value()};
}

void RecurrentLayer::reset_states() {
  for (Variable& state : states_) state.write(Tensor::zeros(state.shape()));
}

namespace {

std::vector<RecurrentLayer*> stateful_layers(LayerBase& layer) {
  std::vector<RecurrentLayer*> found;
  auto look_at = [&](LayerBase& base) {
    auto* recurrent = dynamic_cast<RecurrentLayer*>(&base);
    if (recurrent != nullptr && recurrent->sequence().stateful) found.push_back(recurrent);
  };
  look_at(layer);
  for (const Descendant& inner : descendants(layer)) look_at(inner.layer.base());
  return found;
}

}  // namespace

std::vector<Variable> weights_without_states(LayerBase& layer, std::vector<Variable> weights) {
  for (const RecurrentLayer* stateful : stateful_layers(layer))
    for (const Variable& state : stateful->states()) std::erase(weights, state);
  return weights;
}

void reset_states(const Layer& layer) {
  std::vector<RecurrentLayer*> found = stateful_layers(layer.base());
  for (RecurrentLayer* stateful : found) stateful->reset_states();
  if (found.empty())
    throw Error(
        fmt::format("reset_states: {} has no stateful layer; make one with {{.stateful = "
                    "true}}",
                    layer.base().title()));
}

}  // namespace stoker
