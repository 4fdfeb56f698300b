// Loops and recurrent layers.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/functions/loops.h"
#include "graph/ops/scan.h"
#include "graph/placement.h"

namespace stoker::ops {

namespace {

int64_t length_of(const Values& sequences, const Scan& options) {
  if (sequences.empty() && !options.length)
    throw ValueError("ops::scan: without sequences it needs a length; set Scan::length");
  std::optional<int64_t> length = options.length;
  for (const Value& sequence : sequences) {
    if (sequence.shape().rank() < 1)
      throw ShapeError(
          fmt::format("ops::scan: expected sequences [T, …], got {}", to_string(sequence.spec())));
    if (length && *length != sequence.shape()[0])
      throw ShapeError(
          fmt::format("ops::scan: expected all sequences to have {} steps in dimension 0, got {}",
                      *length, to_string(sequence.spec())));
    length = sequence.shape()[0];
  }
  return *length;
}

// The body, and what it is called with.
struct Body {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<ScanRole> roles;
  Values operands;
  size_t carries = 0;
};

void add_inputs(Body& body, const Values& carry, const Values& sequences) {
  body.carries = carry.size();
  body.operands = carry;
  body.operands.insert(body.operands.end(), sequences.begin(), sequences.end());
  for (size_t i = 0; i < body.operands.size(); ++i) {
    bool carries = i < carry.size();
    body.roles.push_back(carries ? ScanRole::carry : ScanRole::sequence);
    TensorSpec spec = body.operands[i].spec();
    if (!carries) spec.shape = spec.shape.drop_front();
    body.graph->input(carries ? "carry" : "slice", spec);
  }
}

Value checked_carry(const Value& got, const TensorSpec& expected, size_t index) {
  Value next = is_floating(got.dtype()) && is_floating(expected.dtype)
                   ? emit::cast(got, expected.dtype)
                   : got;
  if (next.spec() == expected) return next;
  throw ShapeError(
      fmt::format("ops::scan: the step turns carry {} from {} into {}; expected the same", index,
                  to_string(expected), to_string(got.spec())));
}

void trace(Body& body, const ScanFunction& step) {
  Graph& graph = *body.graph;
  auto inputs = [&](size_t first, size_t last) {
    Values values;
    for (size_t i = first; i < last; ++i) values.push_back(graph.value(graph.inputs()[i].value));
    return values;
  };
  ScanStep made = step(inputs(0, body.carries), inputs(body.carries, body.operands.size()));
  if (made.carry.size() != body.carries)
    throw ValueError(fmt::format("ops::scan: the step gives {} carries, got {} to begin with",
                                 made.carry.size(), body.carries));
  for (size_t i = 0; i < made.carry.size(); ++i) {
    const TensorSpec& spec = graph.spec(graph.inputs()[i].value);
    graph.output(checked_carry(place(graph, made.carry[i]), spec, i), "carry");
  }
  for (const Value& output : made.outputs) graph.output(place(graph, output), "output");
  graph.remove_dead_nodes();
}

// A random state per step: the seed differs, so that no two steps draw the same numbers.
Value states_of_steps(const Value& state, int64_t length) {
  constexpr int64_t kApart = 0x5851f42d4c957f2d;
  Tensor offsets = Tensor::zeros({length, 2}, DType::int64);
  for (int64_t step = 0; step < length; ++step)
    offsets.data_mut<int64_t>()[2 * step] = int64_t(uint64_t(kApart) * uint64_t(step + 1));
  return emit::broadcast_to(state, {length, 2}) + Value(offsets);
}

// What the body took from around it.
void add_captured(Body& body, Graph& outer, int64_t length) {
  Graph& graph = *body.graph;
  for (size_t i = body.operands.size(); i < graph.inputs().size(); ++i) {
    bool captured = i < graph.captured().size() && graph.captured()[i].defined();
    body.roles.push_back(captured ? ScanRole::captured : ScanRole::sequence);
    body.operands.push_back(captured ? graph.captured()[i]
                                     : states_of_steps(outer.random_state(), length));
  }
}

}  // namespace

ScanResult scan_with_gate(const ScanFunction& step, const Values& carry, const Values& sequences,
                          const Scan& options, int64_t gate) {
  if (!step) throw ValueError("ops::scan: the step is an empty function");
  Values given = carry;
  given.insert(given.end(), sequences.begin(), sequences.end());
  Graph* outer = graph_of("ops::scan", given);
  if (outer == nullptr)
    throw Error(
        "ops::scan: it traces its step at known shapes, and values of Input() have none yet; call "
        "it inside a Lambda, or the call() of a layer");
  int64_t length = length_of(sequences, options);
  Body body;
  add_inputs(body, place(*outer, carry), place(*outer, sequences));
  body.graph->begin_body(*outer);
  {
    Graph::Scope scope(*body.graph, outer->scope());
    trace(body, step);
  }
  add_captured(body, *outer, length);
  body.graph->end_body();
  ScanCall call(body.graph, length, options.reverse, body.roles);
  call.gate = gate;
  Values results = apply("scan", body.operands, call.attrs());
  auto carries = long(call.carries()), ends = long(body.graph->outputs().size());
  return {Values(results.begin(), results.begin() + carries),
          Values(results.begin() + carries, results.begin() + ends)};
}

ScanResult scan(const ScanFunction& step, const Values& carry, const Values& sequences,
                const Scan& options) {
  return scan_with_gate(step, carry, sequences, options, -1);
}

RecurrentResult recurrent(const Value& x, const Value& kernel, const Value& recurrent_kernel,
                          const Value& bias, const Values& states, const Value& mask,
                          const Recurrent& options) {
  Values operands = {x, kernel, recurrent_kernel, bias};
  operands.insert(operands.end(), states.begin(), states.end());
  if (mask.defined()) operands.push_back(mask);
  Values results = apply("recurrent", operands,
                         {{"cell", options.cell},
                          {"reverse", options.reverse},
                          {"masked", mask.defined()},
                          {"zero_masked", options.zero_masked}});
  return {results[0], Values(results.begin() + 1, results.end())};
}

}  // namespace stoker::ops
