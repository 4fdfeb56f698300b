#include "nn/layers/attention_call.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "nn/masks.h"

namespace stoker {

namespace {

struct CallParts {
  Values inputs;
  CallOptions options;
};

CallParts operands_of(const Value& query, const Value& value, const Value& key,
                      const AttentionCall& call) {
  CallParts made{{query, value}, {.training = call.training}};
  made.options.mask = {call.query_mask, call.value_mask};
  if (key.defined() || call.key_mask.defined() || call.attention_mask.defined()) {
    made.inputs.push_back(key.defined() ? key : value);
    made.options.mask.push_back(call.key_mask);
  }
  if (call.attention_mask.defined()) made.inputs.push_back(call.attention_mask);
  auto set = [&](const char* name, bool given) {
    if (given) made.options.arguments.set(name, true);
  };
  set("return_attention_scores", call.return_attention_scores);
  set("use_causal_mask", call.use_causal_mask);
  return made;
}

}  // namespace

// --- calls ---------------------------------------------------------------------------------------

Values AttentionLayer::call_all(const Value& query, const Value& value, const Value& key,
                                const AttentionCall& call) const {
  CallParts made = operands_of(query, value, key, call);
  return Layer::call_all(made.inputs, made.options);
}

Values AttentionLayer::call_all(const Value& query, const Value& value,
                                const AttentionCall& call) const {
  return call_all(query, value, Value(), call);
}

Value AttentionLayer::operator()(const Value& query, const Value& value, const Value& key,
                                 const AttentionCall& call) const {
  CallParts made = operands_of(query, value, key, call);
  return Layer::operator()(made.inputs, made.options);
}

Value AttentionLayer::operator()(const Value& query, const Value& value,
                                 const AttentionCall& call) const {
  return (*this)(query, value, Value(), call);
}

// --- AttentionBase -------------------------------------------------------------------------------

Values AttentionBase::compute_mask(const Values&, const Values& masks) const {
  return masks.empty() ? Values() : Values{masks[0]};
}

Values AttentionBase::call(const Values& inputs, CallContext& context) {
  const Attrs& arguments = context.arguments();
  AttentionOperands operands{.query = inputs[0],
                             .value = inputs[1],
                             .key = inputs.size() > 2 ? inputs[2] : inputs[1],
                             .query_mask = context.mask(0),
                             .value_mask = context.mask(1),
                             .key_mask = context.mask(2),
                             .attention_mask = inputs.size() > 3 ? as_mask(inputs[3]) : Value(),
                             .causal = arguments.get_or("use_causal_mask", false),
                             .with_scores = arguments.get_or("return_attention_scores", false)};
  expect_floats(operands);
  return attend_to(operands, context);
}

AttentionBase::Shapes AttentionBase::operand_shapes(const std::vector<Shape>& inputs) const {
  if (inputs.size() < 2 || inputs.size() > 4)
    fail_input(
        fmt::format("expected query and value, or query, value and key, got {} input{}; "
                    "self-attention takes the sequence twice: (x, x)",
                    inputs.size(), inputs.size() == 1 ? "" : "s"));
  return {inputs[0], inputs[1], inputs.size() > 2 ? inputs[2] : inputs[1]};
}

void AttentionBase::expect_floats(const AttentionOperands& operands) const {
  for (const Value* each : {&operands.query, &operands.value, &operands.key})
    if (!is_floating(each->dtype()))
      fail_input(
          fmt::format("expected float input, got {}; add Embedding before it if these are ids",
                      to_string(each->spec())));
}

}  // namespace stoker
