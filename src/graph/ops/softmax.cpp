// softmax, log_softmax and the cross-entropies.
#include <fmt/format.h>

#include "graph/autodiff.h"
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

// --- second derivatives: the gradient ops as compositions, in float32 ---

Value wide(const Value& x) { return emit::cast(x, DType::float32); }

Value row_sums(const Value& x) {
  return emit::reduce("sum", x, {int64_t(x.shape().rank()) - 1}, true);
}

// d(loss) of every row, so that it broadcasts against the row.
Value beside_rows(const Value& dloss) {
  Ints dims = emit::dims(dloss.shape());
  dims.push_back(1);
  return emit::reshape(dloss, to_shape(dims));
}

// y · (dy − Σ y · dy)
Values compose_softmax_grad(const Attrs&, const Values& in) {
  Value y = wide(in[0]), dy = wide(in[1]);
  return {emit::cast(y * (dy - row_sums(y * dy)), in[0].dtype())};
}

// dy − exp(y) · Σ dy
Values compose_log_softmax_grad(const Attrs&, const Values& in) {
  Value y = wide(in[0]), dy = wide(in[1]);
  return {emit::cast(dy - emit::unary("exp", y) * row_sums(dy), in[0].dtype())};
}

// (softmax(logits) − one_hot(labels)) · dloss
Values compose_sparse_cross_entropy_grad(const Attrs&, const Values& in) {
  Value targets =
      apply1("one_hot", {in[1]}, {{"depth", in[0].shape()[-1]}, {"dtype", std::string("float32")}});
  Value slope = apply1("softmax", {wide(in[0])}) - targets;
  return {emit::cast(slope * beside_rows(in[2]), in[0].dtype())};
}

// (softmax(logits) · Σ targets − targets) · dloss
Values compose_cross_entropy_grad(const Attrs&, const Values& in) {
  Value targets = wide(in[1]);
  Value slope = apply1("softmax", {wide(in[0])}) * row_sums(targets) - targets;
  return {emit::cast(slope * beside_rows(in[2]), in[0].dtype())};
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

decltype(OpDef::gradient) cross_entropy_gradient(std::string op) {
  return [op = std::move(op)](const GradientCall& call) -> Values {
    const Value &logits = call.inputs[0], &targets = call.inputs[1];
    const Value& dloss = call.output_gradients[0];
    Values gradients(2);
    if (call.needed[0]) gradients[0] = apply1(op, {logits, targets, dloss});
    if (call.needed[1])  // soft targets: the loss is −Σ targets · log_softmax(logits)
      gradients[1] = emit::cast(-(apply1("log_softmax", {wide(logits)}) * beside_rows(dloss)),
                                targets.dtype());
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
  Value logits = wide(call.inputs[0]), targets = wide(call.inputs[1]);
  const Value& dloss = call.output_gradients[0];
  if (call.needed[0]) {
    Value slope = emit::unary("sigmoid", logits) - targets;
    gradients[0] = emit::cast(dloss * slope, call.inputs[0].dtype());
  }
  if (call.needed[1]) gradients[1] = emit::cast(-(dloss * logits), call.inputs[1].dtype());
  return gradients;
}

}  // namespace

void register_softmax_ops(OpRegistry& registry) {
  auto add_softmax = [&](const std::string& name, const Composition& gradient) {
    registry.add({.name = name,
                  .infer = infer_softmax,
                  .gradient = gradient_from_output(name + "_grad"),
                  .cost = elementwise_cost(12),
                  .dtypes = floats()});
    registry.add({.name = name + "_grad",
                  .infer = infer_softmax_grad,
                  .gradient = gradient_of(gradient),
                  .cost = elementwise_cost(4),
                  .dtypes = floats()});
  };
  add_softmax("softmax", compose_softmax_grad);
  add_softmax("log_softmax", compose_log_softmax_grad);
  auto add_loss = [&](const std::string& name, const Infer& infer, const Composition& gradient,
                      std::optional<IndexRule> indices) {
    registry.add({.name = name,
                  .infer = infer,
                  .gradient = cross_entropy_gradient(name + "_grad"),
                  .cost = elementwise_cost(12),
                  .dtypes = floats(),
                  .indices = std::move(indices)});
    registry.add({.name = name + "_grad",
                  .infer = infer_cross_entropy_grad(infer),
                  .gradient = gradient_of(gradient),
                  .cost = elementwise_cost(13),
                  .dtypes = floats()});
  };
  auto classes = [](Specs inputs) { return inputs[0].shape[-1]; };
  add_loss("sparse_softmax_cross_entropy", infer_sparse_cross_entropy,
           compose_sparse_cross_entropy_grad,
           IndexRule{.operand = 1, .what = "class id", .limit = classes});
  add_loss("softmax_cross_entropy", infer_cross_entropy, compose_cross_entropy_grad, std::nullopt);
  registry.add({.name = "sigmoid_cross_entropy",
                .infer = infer_sigmoid_cross_entropy,
                .gradient = sigmoid_cross_entropy_gradient,
                .cost = elementwise_cost(20),
                .dtypes = floats(),
                .traits = {.elementwise = true}});
}

}  // namespace stoker
