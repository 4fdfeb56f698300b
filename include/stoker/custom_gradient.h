// Functions of ops whose gradient is written by hand: a stable form, clipping, straight-through
// estimators.
//
//   auto log1pexp = ops::custom_gradient([](const Value& x) {
//     Value e = ops::exp(x);
//     return ops::OutputAndGradient{ops::log(1.0 + e),
//                                   [=](const Value& upstream) { return upstream * (1.0 - 1.0 / (1.0 + e)); }};
//   });
//   Value y = log1pexp(x);
//
// The gradient's own gradient follows from the ops that it uses. Call it in the call() of a layer, in a
// loss, in function(), or in a Lambda of a functional model; not in the body of ops::scan and its kind,
// which is an Error.
#pragma once

#include <functional>

#include <stoker/value.h>

namespace stoker::ops {

// Of a function of one value: d(loss)/dx from d(loss)/d(output).
struct OutputAndGradient {
  Value output;
  std::function<Value(const Value& upstream)> gradient;
};
// Of several: one gradient per input, of its shape and dtype; undefined: none.
struct OutputAndGradients {
  Value output;
  std::function<Values(const Value& upstream)> gradient;
};
using UnaryFunction = std::function<Value(const Value& x)>;
using ListFunction = std::function<Value(const Values& inputs)>;

// The function that computes the output, with that gradient. ValueError for an empty function.
UnaryFunction custom_gradient(std::function<OutputAndGradient(const Value&)> function);
ListFunction custom_gradient(std::function<OutputAndGradients(const Values&)> function);

}  // namespace stoker::ops
