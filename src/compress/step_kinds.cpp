// Of which kind a step is.
#include <algorithm>

#include <fmt/format.h>

#include "compress/rebuild.h"
#include "compress/step_maker.h"
#include "graph/ops/quantized.h"

namespace stoker::compress {

void StepMaker::classify_layer(Step& step, const LayerCall& call) {
  const LayerBase& layer = step.layer.base();
  std::string kind = layer.kind();
  auto other = [&](const std::string& reason) { step.reason = reason; };
  if (ModelAccess::base(step.layer) != nullptr)
    return other("it is a model that is called with options of its own");
  if (is_own_class(layer)) return other("it is a class of the program");
  bool plain = step.masks.empty() && call.arguments.entries().empty() &&
               std::ranges::all_of(step.inputs, [](const Operand& one) { return one.edge >= 0; });
  if (!plain) return other("it is called with a mask or arguments");
  bool floats = std::ranges::all_of(
      step.inputs, [&](const Operand& one) { return spec(one).dtype == DType::float32; });
  if (!floats) return other(fmt::format("{} of integers", kind));
  if (call.training.value_or(false)) return other("it is called as in training");
  bool trained = !request_.only_aware || is_aware(step.layer);
  if (!trained && (is_product(step.layer) || kind.starts_with("SeparableConv")))
    return other("it was not trained for int8");
  if (is_product(step.layer)) return product(step);
  if (kind.starts_with("SeparableConv")) return separable(step);
  if (kind == "BatchNormalization" && is_last_axis(step.layer, spec(step.inputs[0]).shape.rank()))
    step.kind = StepKind::batch_norm;
  else if (is_dropped(kind))
    step.kind = StepKind::nothing;
  else if (is_moved(step.layer))
    step.kind = StepKind::move;
  else if (is_elementwise(step.layer))
    step.kind = StepKind::activation;
  else if (kind.starts_with("MaxPooling") || kind.starts_with("GlobalMaxPooling"))
    step.kind = StepKind::max_pool;
  else if (kind == "AveragePooling3D")
    other("means over depth, height and width would be rounded twice");
  else if (kind.starts_with("AveragePooling") || kind.starts_with("GlobalAveragePooling"))
    step.kind = StepKind::mean_pool;
  else if (kind == "ZeroPadding2D")
    step.kind = StepKind::padding;
  else if (kind == "Concatenate")
    step.kind = StepKind::concat;
  else if (kind == "Add")
    classify_add(step);
  else if (kind == "Multiply")
    classify_multiply(step);
  else
    other(fmt::format("{} has no int8 form", kind));
}

void StepMaker::classify_add(Step& step) const {
  bool same = step.inputs.size() == 2 && spec(step.inputs[0]).shape == spec(step.inputs[1]).shape;
  if (same)
    step.kind = StepKind::add;
  else
    step.reason = "int8 sums are of two tensors of one shape";
}

// Of equal shapes, or a gate: one factor per sample and channel, as squeeze and excitation has it.
void StepMaker::classify_multiply(Step& step) const {
  if (step.inputs.size() == 2) {
    const Shape &a = spec(step.inputs[0]).shape, &b = spec(step.inputs[1]).shape;
    if (a == b || quantized::is_gate(a, b) || quantized::is_gate(b, a)) {
      step.kind = StepKind::multiply;
      return;
    }
  }
  step.reason = "int8 products are of two tensors of one shape, or of one and a factor per channel";
}

void StepMaker::classify_op(Step& step, const SketchOp& op) const {
  bool edges = std::ranges::all_of(step.inputs, [](const Operand& one) { return one.edge >= 0; });
  bool floats = edges && std::ranges::all_of(step.inputs, [&](const Operand& one) {
                  return spec(one).dtype == DType::float32;
                });
  auto fn = op.attrs.get_or("fn", std::string());
  if (floats && op.op == "binary" && fn == "add") return classify_add(step);
  if (floats && op.op == "binary" && fn == "mul") return classify_multiply(step);
  if (floats && (op.op == "reshape" || op.op == "transpose"))
    step.kind = StepKind::move;
  else
    step.reason = fmt::format("the op {}{} has no int8 form", op.op,
                              fn.empty() ? "" : fmt::format(" ({})", fn));
}

}  // namespace stoker::compress
