#include <algorithm>

#include <fmt/format.h>

#include "graph/op.h"
#include "graph/ops/attention.h"
#include "graph/ops/augment.h"
#include "graph/ops/decoding.h"
#include "graph/ops/linalg.h"
#include "graph/ops/order.h"
#include "graph/ops/quantized.h"
#include "graph/replica.h"
#include "graph/text.h"

namespace stoker {

namespace {

OpRegistry build() {
  OpRegistry registry;
  register_elementwise_ops(registry);
  register_reduction_ops(registry);
  register_shape_ops(registry);
  register_matmul_ops(registry);
  register_convolution_ops(registry);
  register_pooling_ops(registry);
  register_normalization_ops(registry);
  register_softmax_ops(registry);
  register_lookup_ops(registry);
  register_order_ops(registry);
  register_linalg_ops(registry);
  register_random_ops(registry);
  register_augment_ops(registry);
  register_optimizer_ops(registry);
  register_host_ops(registry);
  register_recurrent_ops(registry);
  register_scan_ops(registry);
  register_collective_ops(registry);
  register_attention_ops(registry);
  register_decoding_ops(registry);
  register_quantized_ops(registry);
  return registry;
}

void check_main_operand(const OpDef& op, std::span<const TensorSpec> inputs) {
  if (op.dtypes.empty() || inputs.empty()) return;
  DType got = inputs[0].dtype;
  if (std::ranges::find(op.dtypes, got) != op.dtypes.end()) return;
  throw ShapeError(
      fmt::format("expected {} as the first operand's dtype, got {}; ops::cast converts it",
                  list_text(op.dtypes, [](DType dtype) { return name(dtype); }), name(got)));
}

// The rule's own words between what they are about: op, layer and inputs.
std::string explain(const OpDef& op, std::span<const TensorSpec> inputs, const std::string& scope,
                    const Error& error) {
  std::string layer = scope.empty() ? "" : fmt::format(" \"{}\"", scope);
  std::string specs = list_text(inputs, [](const TensorSpec& spec) { return to_string(spec); });
  return fmt::format("{}{}: {} (inputs: {})", op.name, layer, error.what(), specs);
}

}  // namespace

const OpRegistry& OpRegistry::get() {
  static const OpRegistry registry = build();
  return registry;
}

const OpDef& OpRegistry::find(std::string_view name) const {
  auto found = by_name_.find(name);
  if (found != by_name_.end()) return *found->second;
  throw ValueError(fmt::format("there is no op \"{}\"; docs/reference/ops.md lists them", name));
}

void OpRegistry::add(OpDef op) {
  ops_.push_back(std::make_unique<const OpDef>(std::move(op)));
  if (!by_name_.emplace(ops_.back()->name, ops_.back().get()).second)
    throw Error(fmt::format("op \"{}\" is registered twice", ops_.back()->name));
}

std::vector<TensorSpec> infer(const OpDef& op, const Attrs& attrs,
                              std::span<const TensorSpec> inputs, const std::string& scope) {
  try {
    check_main_operand(op, inputs);
    return op.infer(attrs, inputs);
  } catch (const ShapeError& error) {
    throw ShapeError(explain(op, inputs, scope, error));
  } catch (const ValueError& error) {
    throw ValueError(explain(op, inputs, scope, error));
  } catch (const Error& error) {
    throw Error(explain(op, inputs, scope, error));
  }
}

}  // namespace stoker
