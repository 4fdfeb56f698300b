// softmax, log_softmax and the cross-entropies.
#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

void expect_classes(const TensorSpec& logits) {
  expect_least_rank(logits, 1, "input [.., C]");
  if (logits.shape[-1] == 0)
    throw ShapeError(fmt::format("expected at least one class, got {}", to_string(logits.shape)));
}

// The shape without its last axis.
Shape rows(const TensorSpec& logits) { return leading(logits.shape, logits.shape.rank() - 1); }

// --- softmax, log_softmax ---

std::vector<TensorSpec> infer_softmax(const Attrs&, Specs inputs) {
  expect_count(inputs, 1);
  expect_classes(inputs[0]);
  return {inputs[0]};
}

std::vector<TensorSpec> infer_softmax_grad(const Attrs&, Specs inputs) {
  expect_count(inputs, 2);
  expect_classes(inputs[0]);
  expect_spec(inputs[1], inputs[0], "an output gradient");
  return {inputs[0]};
}

decltype(OpDef::gradient) gradient_from_output(std::string op) {
  return [op = std::move(op)](const GradientCall& call) -> Values {
    return {apply1(op, {call.outputs[0], call.output_gradients[0]})};
  };
}

// --- cross-entropies ---

std::vector<TensorSpec> infer_sparse_cross_entropy(const Attrs&, Specs inputs) {
  expect_count(inputs, 2);
  expect_classes(inputs[0]);
  expect_dtype(inputs[1], integers(), "class ids");
  if (inputs[1].shape == inputs[0].shape)
    throw ShapeError(
        fmt::format("expected class ids of shape {}, got {}; for one-hot or soft targets use "
                    "categorical cross-entropy",
                    to_string(rows(inputs[0])), to_string(inputs[1].shape)));
  expect_shape(inputs[1], rows(inputs[0]), "class ids");
  return {{DType::float32, inputs[1].shape}};
}

std::vector<TensorSpec> infer_cross_entropy(const Attrs&, Specs inputs) {
  expect_count(inputs, 2);
  expect_classes(inputs[0]);
  expect_dtype(inputs[1], floats(), "targets");
  if (inputs[1].shape == rows(inputs[0]))
    throw ShapeError(
        fmt::format("expected targets of shape {}, got {}; for class ids use sparse categorical "
                    "cross-entropy",
                    to_string(inputs[0].shape), to_string(inputs[1].shape)));
  expect_shape(inputs[1], inputs[0].shape, "targets");
  return {{DType::float32, rows(inputs[0])}};
}

// logits, labels or targets, d(loss) → d(logits); `forward` gives the loss's spec.
Infer infer_cross_entropy_grad(Infer forward) {
  return
      [forward = std::move(forward)](const Attrs& attrs, Specs inputs) -> std::vector<TensorSpec> {
        expect_count(inputs, 3);
        expect_spec(inputs[2], forward(attrs, inputs.first(2))[0], "a loss gradient");
        return {inputs[0]};
      };
}

decltype(OpDef::gradient) logits_gradient(std::string op) {
  return [op = std::move(op)](const GradientCall& call) -> Values {
    Values gradients(2);
    if (call.needed[0])
      gradients[0] = apply1(op, {call.inputs[0], call.inputs[1], call.output_gradients[0]});
    return gradients;
  };
}

std::vector<TensorSpec> infer_sigmoid_cross_entropy(const Attrs&, Specs inputs) {
  expect_count(inputs, 2);
  expect_dtype(inputs[1], floats(), "targets");
  expect_shape(inputs[1], inputs[0].shape, "targets");
  return {{DType::float32, inputs[0].shape}};
}

Values sigmoid_cross_entropy_gradient(const GradientCall& call) {
  Values gradients(2);
  if (!call.needed[0]) return gradients;
  Value logits = emit::cast(call.inputs[0], DType::float32),
        targets = emit::cast(call.inputs[1], DType::float32);
  Value slope = emit::unary("sigmoid", logits) - targets;
  gradients[0] = emit::cast(call.output_gradients[0] * slope, call.inputs[0].dtype());
  return gradients;
}

}  // namespace

void register_softmax_ops(OpRegistry& registry) {
  for (std::string name : {"softmax", "log_softmax"}) {
    registry.add({.name = name,
                  .infer = infer_softmax,
                  .gradient = gradient_from_output(name + "_grad"),
                  .cost = elementwise_cost(12),
                  .dtypes = floats()});
    registry.add({.name = name + "_grad",
                  .infer = infer_softmax_grad,
                  .cost = elementwise_cost(4),
                  .dtypes = floats()});
  }
  auto add_loss = [&](const std::string& name, const Infer& infer,
                      std::optional<IndexRule> indices) {
    registry.add({.name = name,
                  .infer = infer,
                  .gradient = logits_gradient(name + "_grad"),
                  .cost = elementwise_cost(12),
                  .dtypes = floats(),
                  .indices = std::move(indices)});
    registry.add({.name = name + "_grad",
                  .infer = infer_cross_entropy_grad(infer),
                  .cost = elementwise_cost(13),
                  .dtypes = floats()});
  };
  auto classes = [](Specs inputs) { return inputs[0].shape[-1]; };
  add_loss("sparse_softmax_cross_entropy", infer_sparse_cross_entropy,
           IndexRule{.operand = 1, .what = "class id", .limit = classes});
  add_loss("softmax_cross_entropy", infer_cross_entropy, std::nullopt);
  registry.add({.name = "sigmoid_cross_entropy",
                .infer = infer_sigmoid_cross_entropy,
                .gradient = sigmoid_cross_entropy_gradient,
                .cost = elementwise_cost(20),
                .dtypes = floats()});
}

}  // namespace stoker
