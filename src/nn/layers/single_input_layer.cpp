#include "nn/layers/single_input_layer.h"

#include <fmt/format.h>

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
  if (input.rank() == 4) return;
  std::string advice;
  if (input.rank() == 3)
    advice = fmt::format("add Reshape({{{}, {}, 1}}) before it", input[1], input[2]);
  if (input.rank() == 2) advice = "add Reshape({height, width, channels}) before it";
  fail_input("4-D input [B, H, W, C]", input, advice);
}

void SingleInputLayer::expect_padding(const std::string& padding) const {
  if (padding != "valid" && padding != "same")
    fail_option(fmt::format("padding is \"valid\" or \"same\", got \"{}\"", padding));
}

void SingleInputLayer::expect_positive(const char* option, int64_t value) const {
  if (value < 1) fail_option(fmt::format("{} is at least 1, got {}", option, value));
}

void SingleInputLayer::expect_positive(const char* option, Size2 value) const {
  if (value.height < 1 || value.width < 1)
    fail_option(fmt::format("{} is at least 1, got {{{}, {}}}", option, value.height, value.width));
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
