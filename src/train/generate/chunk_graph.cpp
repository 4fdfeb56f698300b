// The program of a chunk of tokens, derived from the graph of the whole length: every node that
// depends on the tokens again, with the chunk's steps in place of all steps.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/ops/scan.h"
#include "train/generate/step_model.h"

namespace stoker {

namespace {

// `x` with the last `count` steps of its time axis.
Value last_steps(const Value& x, const TimeAxis& time, int64_t count) {
  const Shape& shape = x.shape();
  int64_t steps = shape[time.axis] / (time.outer * time.inner);
  if (steps == count) return x;
  int64_t before = time.outer, behind = time.inner;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (axis != time.axis) (axis < time.axis ? before : behind) *= shape[axis];
  Value flat = emit::reshape(x, {before, steps, behind});
  Value last = emit::slice(flat, {0, steps - count, 0}, {before, count, behind});
  return emit::reshape(last, shape.with(time.axis, time.outer * count * time.inner));
}

class ChunkWriter {
 public:
  ChunkWriter(StepModel& model, Graph& to, int64_t chunk)
      : model_(model), from_(model.graph()), to_(to), chunk_(chunk) {
    const TensorSpec& tokens = from_.spec(model.traced.tokens.value);
    there_[model.traced.tokens.value] =
        to.input("tokens", {tokens.dtype, tokens.shape.with(1, chunk)});
    positions_ = to.input("positions", {DType::int32, {chunk}});
    find_needs();
  }

  Value write() {
    for (const Node& node : from_.nodes())
      if (!model_.axis(node.outputs[0]).fixed()) write(node);
    Value logits = there_.at(model_.traced.logits);
    if (logits.shape().rank() == 2) return logits;
    Graph::Scope scope(to_, "generate");
    logits = last_steps(logits, model_.axis(model_.traced.logits), 1);
    return emit::reshape(logits, {logits.shape()[0], logits.shape()[2]});
  }

 private:
  // --- which steps are wanted ---

  // An operand that the others look at: a mask's keys.
  bool is_history(const Node& node, size_t index) const {
    const TimeAxis& result = model_.axis(node.outputs[0]);
    const TimeAxis& operand = model_.axis(node.inputs[index]);
    if (!node.traits().elementwise || result.key_axis < 0 || !operand.stepwise()) return false;
    int key =
        under(result.key_axis, rank_of(node.outputs[0]), from_.spec(node.inputs[index]).shape);
    return operand.axis == key && operand.key_axis < 0;
  }

  // Values of which every step is wanted, not the last one alone.
  void find_needs() {
    every_.resize(from_.values().size());
    for (auto node = from_.nodes().rbegin(); node != from_.nodes().rend(); ++node) {
      bool all =
          std::ranges::any_of(node->outputs, [&](int id) { return bool(every_[size_t(id)]); });
      for (size_t i = 0; i < node->inputs.size(); ++i)
        if (all || needs_every_step(*node, i) || is_history(*node, i))
          every_[size_t(node->inputs[i])] = true;
    }
  }
  // Steps that a node computes.
  int64_t steps_of(const Node& node) const {
    if (carries_state(node)) return chunk_;
    bool all = std::ranges::any_of(node.outputs, [&](int id) { return bool(every_[size_t(id)]); });
    return all ? chunk_ : 1;
  }

  // --- fixed operands ---

  int rank_of(int value) const { return from_.spec(value).shape.rank(); }

  Value stored(const FixedForm& form, DType dtype, const Shape& shape) {
    Variable& variable = model_.fixed[form];
    if (!variable.defined())
      variable = Variable(fmt::format("generate/fixed_{}", model_.fixed.size()),
                          Tensor::zeros(shape, dtype),
                          {.trainable = false, .category = MemoryCategory::activations});
    return to_.variable(variable);
  }

  Value fixed(int id) {
    const ValueInfo& info = from_.values()[size_t(id)];
    if (info.kind == ValueKind::constant)
      return to_.constant(from_.constants()[size_t(info.source)].tensor);
    if (info.kind == ValueKind::variable)
      return to_.variable(from_.variables()[size_t(info.source)].variable);
    const Node* node = from_.producer(id);
    if (node != nullptr && node->traits().shares_bytes)
      return to_.add(*node->op, {fixed(node->inputs[0])}, node->attrs)[0];
    return stored({id}, info.spec.dtype, info.spec.shape);
  }

  // The rows of a fixed value at the positions of the last `count` steps of the chunk.
  Value rows_at(int id, int axis, int64_t count) {
    const TensorSpec& spec = from_.spec(id);
    bool number =
        is_floating(spec.dtype) || spec.dtype == DType::int32 || spec.dtype == DType::int64;
    DType dtype = number ? spec.dtype : DType::int32;
    int64_t length = spec.shape[axis], before = 1, behind = 1;
    for (int i = 0; i < spec.shape.rank(); ++i)
      if (i != axis) (i < axis ? before : behind) *= spec.shape[i];
    Value table = number && before == 1 ? emit::reshape(fixed(id), {length, before, behind})
                                        : stored({id, axis}, dtype, {length, before, behind});
    Value at = last_steps(positions_, {TimeAxis::Kind::stepwise, 0}, count);
    Value rows = apply1("gather", {table, at});
    if (before > 1) rows = emit::transpose(rows, {1, 0, 2});
    return emit::cast(emit::reshape(rows, spec.shape.with(axis, count)), spec.dtype);
  }

  // A fixed operand beside a result with time axes.
  Value beside(int id, const TimeAxis& result, int rank, int64_t steps) {
    const Shape& shape = from_.spec(id).shape;
    int axis = under(result.axis, rank, shape), key = under(result.key_axis, rank, shape);
    int64_t length = model_.traced.tokens.length;
    Value value =
        axis >= 0 && shape[axis] == length && result.plain() ? rows_at(id, axis, steps) : fixed(id);
    return key >= 0 && shape[key] == length ? first_keys(value, key) : value;
  }
  Value first_keys(const Value& x, int axis) {
    Ints size = emit::dims(x.shape());
    size[size_t(axis)] = model_.capacity;
    return emit::slice(x, Ints(size.size(), 0), size);
  }

  // --- kept values ---

  Variable& kept(int id, DType dtype, const Shape& shape) {
    Variable& variable = model_.kept[id];
    if (!variable.defined())
      variable =
          Variable(fmt::format("generate/kept_{}", model_.kept.size()), Tensor::zeros(shape, dtype),
                   {.trainable = false, .category = MemoryCategory::activations});
    return variable;
  }

  // The cache [B, G, C, D] of rows [B, n, G, D], and what it is with them.
  std::pair<Value, Value> cached(int id, const Value& rows) {
    if (auto known = cached_.find(id); known != cached_.end()) return known->second;
    const Shape& shape = rows.shape();
    Variable& cache = kept(id, rows.dtype(), {shape[0], shape[2], model_.capacity, shape[3]});
    Value before = to_.variable(cache);
    Graph::Scope phase(to_, Phase::update);
    Value after = apply1("cache_append", {before, rows, positions_});
    to_.assign(cache, after, Assign::always);
    return cached_[id] = {before, after};
  }

  // All steps so far, the chunk's included, of a value with a time axis.
  Value history(int id) {
    const TimeAxis& time = model_.axis(id);
    Value now = there_.at(id);
    const Shape& shape = now.shape();
    int64_t before = 1, behind = 1;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (axis != time.axis) (axis < time.axis ? before : behind) *= shape[axis];
    Value rows = emit::reshape(now, {before, chunk_, 1, behind});
    return emit::reshape(cached(id, rows).second, shape.with(time.axis, model_.capacity));
  }

  // --- nodes ---

  Value operand(const Node& node, size_t index, int64_t steps) {
    int id = node.inputs[index];
    const TimeAxis &time = model_.axis(id), &result = model_.axis(node.outputs[0]);
    if (time.fixed())
      return node.traits().elementwise || node.is("concat")
                 ? beside(id, result, rank_of(node.outputs[0]), steps)
                 : fixed(id);
    if (is_history(node, index)) return history(id);
    if (!time.stepwise() || time.axis < 0) return there_.at(id);
    return last_steps(there_.at(id), time, needs_every_step(node, index) ? chunk_ : steps);
  }

  // Shapes in attributes, with the steps of this chunk.
  Attrs attrs_of(const Node& node, const Values& operands, int64_t steps) const {
    Attrs attrs = node.attrs;
    const TimeAxis& time = model_.axis(node.outputs[0]);
    if (node.is("reshape") || node.is("broadcast_to")) {
      if (!time.stepwise()) return attrs;
      Ints shape = emit::dims(from_.spec(node.outputs[0]).shape);
      if (time.axis >= 0) shape[size_t(time.axis)] = time.outer * steps * time.inner;
      if (time.key_axis >= 0) shape[size_t(time.key_axis)] = model_.capacity;
      attrs.set("shape", shape);
    } else if (node.is("slice")) {
      Ints begin = attrs.get<Ints>("begin"), size = emit::dims(from_.spec(node.outputs[0]).shape);
      const TimeAxis& source = model_.axis(node.inputs[0]);
      if (!source.stepwise()) return attrs;
      auto at = size_t(source.axis);
      int64_t extent = operands[0].shape()[source.axis];
      size[at] = time.stepwise() ? extent : 1;
      begin[at] = extent - size[at];
      attrs.set("begin", begin);
      attrs.set("size", size);
    } else if (node.is("matmul")) {
      attrs.set("few_rows", true);
    } else if (node.is("scan")) {
      attrs.set("length", chunk_);
    }
    return attrs;
  }

  void write(const Node& node) {
    Graph::Scope scope(to_, node.scope);
    if (attends_to_tokens(node, model_.axes)) return write_attention(node);
    if (node.is("attention")) return write_other_attention(node);
    int64_t steps = steps_of(node);
    Values operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(operand(node, i, steps));
    if (node.is("recurrent")) begin_states(node, operands, 4, node.outputs.size() - 1);
    if (node.is("scan")) begin_carries(node, operands);
    Values results = to_.add(*node.op, operands, attrs_of(node, operands, steps));
    if (node.is("recurrent")) end_states(node, results, 1, results.size() - 1);
    if (node.is("scan")) end_states(node, results, 0, ScanCall(node.attrs).carries());
    for (size_t i = 0; i < results.size(); ++i) there_[node.outputs[i]] = results[i];
  }

  // mask [B, heads, m, C]
  Value attention_mask(const Node& node, int64_t queries) {
    int id = node.inputs[3];
    const TimeAxis& time = model_.axis(id);
    Value mask;
    if (time.fixed())
      mask = beside(id, {TimeAxis::Kind::stepwise, 2, 1, 1, 3}, 4, queries);
    else if (time.axis == 3)
      mask = history(id);
    else
      mask = time.axis < 0 ? there_.at(id) : last_steps(there_.at(id), time, queries);
    return emit::broadcast_to(mask, mask.shape().with(3, model_.capacity));
  }

  void write_attention(const Node& node) {
    int64_t steps = steps_of(node);
    Values operands;
    for (size_t i = 0; i < 3; ++i) operands.push_back(operand(node, i, steps));
    operands.push_back(cached(node.inputs[1], operands[1]).first);
    operands.push_back(cached(node.inputs[2], operands[2]).first);
    operands.push_back(positions_);
    if (node.attrs.get_or("masked", false)) operands.push_back(attention_mask(node, steps));
    double scale = node.attrs.has("scale") ? node.attrs.get<double>("scale")
                                           : 1 / std::sqrt(double(operands[0].shape()[3]));
    there_[node.outputs[0]] = apply1("cached_attention", operands, {{"scale", scale}});
  }

  // Keys and values that do not depend on the tokens.
  void write_other_attention(const Node& node) {
    int64_t steps = steps_of(node);
    Values operands = {operand(node, 0, steps), fixed(node.inputs[1]), fixed(node.inputs[2])};
    if (node.attrs.get_or("masked", false)) {
      const TimeAxis& time = model_.axis(node.inputs[3]);
      operands.push_back(time.fixed()
                             ? beside(node.inputs[3], {TimeAxis::Kind::stepwise, 2}, 4, steps)
                             : last_steps(there_.at(node.inputs[3]), time, steps));
    }
    Values results = to_.add(*node.op, operands, node.attrs);
    for (size_t i = 0; i < results.size(); ++i) there_[node.outputs[i]] = results[i];
  }

  // States: what the model begins with before the first token, then what the last chunk left.
  Value state_before(int id, const Value& initial) {
    Variable& variable = kept(id, initial.dtype(), initial.shape());
    Value first = emit::slice(positions_, {0}, {1});
    Value begins = emit::compare("equal", first, to_.number(Tensor::zeros({}, DType::int32)));
    return emit::select(emit::reshape(begins, {}), initial, to_.variable(variable));
  }
  void begin_states(const Node& node, Values& operands, size_t first, size_t count) {
    for (size_t i = 0; i < count; ++i)
      operands[first + i] = state_before(node.outputs[1 + i], operands[first + i]);
  }
  void begin_carries(const Node& node, Values& operands) {
    std::vector<size_t> carries = ScanCall(node.attrs).inputs_of(ScanRole::carry);
    for (size_t i = 0; i < carries.size(); ++i)
      operands[carries[i]] = state_before(node.outputs[i], operands[carries[i]]);
  }
  void end_states(const Node& node, const Values& results, size_t first, size_t count) {
    Graph::Scope phase(to_, Phase::update);
    for (size_t i = first; i < first + count; ++i)
      to_.assign(model_.kept.at(node.outputs[i]), results[i], Assign::always);
  }

  StepModel& model_;
  const Graph& from_;
  Graph& to_;
  int64_t chunk_;
  Value positions_;
  std::map<int, Value> there_;                     // by value of the traced graph
  std::map<int, std::pair<Value, Value>> cached_;  // likewise
  std::vector<bool> every_;                        // likewise
};

}  // namespace

std::unique_ptr<Graph> chunk_graph(StepModel& model, int64_t chunk) {
  auto graph = std::make_unique<Graph>();
  Graph::Scope scope(*graph, "generate");
  graph->output(ChunkWriter(model, *graph, chunk).write(), "logits");
  return graph;
}

}  // namespace stoker
