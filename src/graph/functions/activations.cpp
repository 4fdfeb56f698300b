#include <map>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"
#include "graph/text.h"

namespace stoker::ops {

namespace {

using Activation = Value (*)(const Value&);

// One entry a name of Keras 3, with Keras's defaults; gelu_tanh is its gelu(approximate=True).
const std::map<std::string, Activation, std::less<>>& activations() {
  static const std::map<std::string, Activation, std::less<>> kTable = {
      {"celu", [](const Value& x) { return emit::unary("celu", x, 1.0); }},
      {"elu", [](const Value& x) { return elu(x); }},
      {"exponential", [](const Value& x) { return exp(x); }},
      {"gelu", [](const Value& x) { return gelu(x); }},
      {"gelu_tanh", [](const Value& x) { return gelu(x, /*approximate=*/true); }},
      {"hard_shrink", [](const Value& x) { return emit::unary("hard_shrink", x, 0.5); }},
      {"hard_sigmoid", [](const Value& x) { return emit::unary("hard_sigmoid", x); }},
      {"hard_silu", [](const Value& x) { return emit::unary("hard_silu", x); }},
      {"hard_swish", [](const Value& x) { return emit::unary("hard_silu", x); }},
      {"hard_tanh", [](const Value& x) { return emit::unary("hard_tanh", x); }},
      {"leaky_relu", [](const Value& x) { return leaky_relu(x); }},
      {"linear", [](const Value& x) { return x; }},
      {"log_sigmoid", [](const Value& x) { return emit::unary("log_sigmoid", x); }},
      {"log_softmax", [](const Value& x) { return log_softmax(x); }},
      {"mish", [](const Value& x) { return emit::unary("mish", x); }},
      {"relu", [](const Value& x) { return relu(x); }},
      {"relu6", [](const Value& x) { return emit::unary("relu6", x); }},
      {"selu", [](const Value& x) { return emit::unary("selu", x); }},
      {"sigmoid", [](const Value& x) { return sigmoid(x); }},
      {"silu", [](const Value& x) { return silu(x); }},
      {"soft_shrink", [](const Value& x) { return emit::unary("soft_shrink", x, 0.5); }},
      {"softmax", [](const Value& x) { return softmax(x); }},
      {"softplus", [](const Value& x) { return softplus(x); }},
      {"softsign", [](const Value& x) { return emit::unary("softsign", x); }},
      {"squareplus", [](const Value& x) { return emit::unary("squareplus", x, 4.0); }},
      {"swish", [](const Value& x) { return silu(x); }},
      {"tanh", [](const Value& x) { return tanh(x); }},
      {"tanh_shrink", [](const Value& x) { return emit::unary("tanh_shrink", x); }},
      {"threshold", [](const Value& x) { return emit::unary("threshold", x, 0.0, 0.0); }},
  };
  return kTable;
}

void expect_not_negative(std::string_view op, double value, std::string_view what) {
  if (!(value >= 0))
    throw ValueError(fmt::format("{}: {} must not be negative, got {}", op, what, value));
}

// An op over the last axis, applied to any.
Value over_axis(const char* op, const Value& x, int axis) {
  int rank = x.shape().rank();
  int64_t at = normalize_axis(op, axis, rank);
  if (at == rank - 1) return apply1(op, {x});
  Ints perm = swapped(rank, at, rank - 1);
  return emit::transpose(apply1(op, {emit::transpose(x, perm)}), perm);
}

}  // namespace

Value activation(const Value& x, const std::string& name) {
  if (name.empty()) return x;
  auto found = activations().find(name);
  if (found != activations().end()) return found->second(x);
  std::string names = list_text(activations(), [](const auto& entry) { return entry.first; });
  throw ValueError(fmt::format("unknown activation \"{}\"; there are {}", name, names));
}

Value relu(const Value& x) { return emit::unary("relu", x); }

Value leaky_relu(const Value& x, double negative_slope) {
  expect_not_negative("leaky_relu", negative_slope, "negative_slope");
  return emit::unary("leaky_relu", x, negative_slope);
}

Value elu(const Value& x, double alpha) {
  expect_not_negative("elu", alpha, "alpha");
  return emit::unary("elu", x, alpha);
}

Value sigmoid(const Value& x) { return emit::unary("sigmoid", x); }

Value tanh(const Value& x) { return emit::unary("tanh", x); }

Value gelu(const Value& x, bool approximate) {
  return emit::unary(approximate ? "gelu_tanh" : "gelu", x);
}

Value silu(const Value& x) { return emit::unary("silu", x); }

Value softplus(const Value& x) { return emit::unary("softplus", x); }

Value softmax(const Value& x, int axis) { return over_axis("softmax", x, axis); }

Value log_softmax(const Value& x, int axis) { return over_axis("log_softmax", x, axis); }

}  // namespace stoker::ops
