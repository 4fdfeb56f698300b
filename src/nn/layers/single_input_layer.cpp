#include "nn/layers/single_input_layer.h"

#include <fmt/format.h>

#include "graph/image_advice.h"

namespace stoker {

void SingleInputLayer::build(const std::vector<Shape>& inputs) {
  if (inputs.size() != 1) fail_input(fmt::format("expected 1 input, got {}", inputs.size()));
  build_for(inputs[0]);
}

Values SingleInputLayer::call(const Values& inputs, CallContext& context) {
  if (inputs.size() != 1) fail_input(fmt::format("expected 1 input, got {}", inputs.size()));
  return {forward(inputs[0], context)};
}

void SingleInputLayer::expect_float(const Value& x) const {
  if (is_floating(x.dtype())) return;
  std::string advice = "add Rescaling(1.0 / 255) before it";
  if (x.dtype() == DType::bytes)
    advice = "decode the bytes or map them to numbers in the input pipeline";
  else if (x.dtype() != DType::uint8)
    advice += ", or Embedding if these are ids";
  fail_input(fmt::format("expected float input, got {}; {}", to_string(x.spec()), advice));
}

void SingleInputLayer::expect_image(const Shape& input) const {
  if (input.rank() != 4) fail_input("4-D input [B, H, W, C]", input, image_advice(input));
}

void SingleInputLayer::expect_sequence(const Shape& input) const {
  if (input.rank() == 3) return;
  std::string advice;
  if (input.rank() == 2)
    advice = fmt::format("add Embedding before it if these are ids, or Reshape({{{}, 1}})",
                         input[1] < 0 ? "-1" : std::to_string(input[1]));
  fail_input("3-D input [B, T, C]", input, advice);
}

int SingleInputLayer::resolve_axis(int64_t axis, const Shape& input) const {
  int64_t resolved = axis < 0 ? axis + input.rank() : axis;
  if (resolved < 1 || resolved >= input.rank())
    fail_input(fmt::format("axis {} is not one of the input's {}, axes 1 to {} (or -1 to -{})",
                           axis, to_string(input), input.rank() - 1, input.rank() - 1));
  return int(resolved);
}

Value as_float32(const Value& x) {
  return x.dtype() == DType::float32 ? x : ops::cast(x, DType::float32);
}

}  // namespace stoker
