// all_reduce.
#include <algorithm>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/graph.h"
#include "graph/ops/shape_rules.h"
#include "graph/replica.h"

namespace stoker {

using namespace rules;

namespace {

std::vector<TensorSpec> infer_all_reduce(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1, SIZE_MAX);
  auto ranks = attrs.get<int64_t>("ranks");
  if (ranks < 1) throw ShapeError(fmt::format("expected 1 replica or more, got {}", ranks));
  const auto& wire = attrs.get<std::string>("wire");
  bool floating = is_floating(inputs[0].dtype);
  if (wire != "float32" && wire != "bfloat16")
    throw ShapeError(fmt::format("expected float32 or bfloat16 on the wire, got \"{}\"", wire));
  for (const TensorSpec& input : inputs)
    if (is_floating(input.dtype) != floating ||
        !(is_floating(input.dtype) || input.dtype == DType::int32 || input.dtype == DType::int64))
      throw ShapeError(fmt::format("expected all floats, or all int32 and int64, got {} beside {}",
                                   to_string(inputs[0]), to_string(input)));
  return {inputs.begin(), inputs.end()};
}

// An own loop weights the gradients, not the losses: slopes of losses with other weights would mix.
void check_even(const Replica& replica) {
  if (replica.averages_gradients && replica.whole % replica.ranks != 0)
    throw Error(fmt::format(
        "function: a gradient goes through a sum over replicas, such as a synchronised "
        "BatchNormalization; this needs batches that the {} replicas divide evenly, got {} rows",
        replica.ranks, replica.whole));
}

// A loss is the sum of what the replicas give it: each contribution has the sum of all slopes.
Values all_reduce_gradient(const GradientCall& call) {
  Values slopes(call.inputs.size()), summed;
  if (!is_floating(call.inputs[0].dtype())) return slopes;
  check_even(replica_of(call.graph));
  Values operands;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const TensorSpec& spec = call.inputs[i].spec();
    Value zero = call.graph.number(Tensor::zeros({}, spec.dtype));
    operands.push_back(call.output_gradients[i].defined() ? call.output_gradients[i]
                                                          : emit::broadcast_to(zero, spec.shape));
  }
  Attrs attrs = call.attrs;
  attrs.set("number", replica_of(call.graph).next_sum++);
  return apply("all_reduce", operands, attrs);
}

// Each replica sends all but its own section of the operands, and then of the sum.
double bytes_sent(const Attrs& attrs, Specs inputs) {
  double count = 0, ranks = double(attrs.get<int64_t>("ranks"));
  for (const TensorSpec& input : inputs) count += elements(input);
  bool narrow = is_floating(inputs[0].dtype) && attrs.get<std::string>("wire") == "bfloat16";
  double size = narrow ? 2 : is_floating(inputs[0].dtype) ? 4 : 8;
  return 2 * count * size * (ranks - 1) / ranks;
}

Cost all_reduce_cost(const Attrs& attrs, Specs inputs, Specs outputs) {
  double count = 0;
  for (const TensorSpec& input : inputs) count += elements(input);
  Cost cost = cost_of(count * double(attrs.get<int64_t>("ranks") - 1), inputs, outputs);
  cost.bytes += bytes_sent(attrs, inputs);
  return cost;
}

}  // namespace

bool is_collective(const Node& node) { return node.is("all_reduce"); }

double wire_bytes(const Graph& graph, const Node& node) {
  std::vector<TensorSpec> inputs;
  for (int value : node.inputs) inputs.push_back(graph.spec(value));
  return bytes_sent(node.attrs, inputs);
}

void register_collective_ops(OpRegistry& registry) {
  std::vector<DType> dtypes = floats();
  dtypes.insert(dtypes.end(), {DType::int32, DType::int64});
  registry.add({.name = "all_reduce",
                .infer = infer_all_reduce,
                .gradient = all_reduce_gradient,
                .cost = all_reduce_cost,
                .dtypes = dtypes});
}

}  // namespace stoker
