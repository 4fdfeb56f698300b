// How far an engine's result may be from the reference: the rule of docs/reference/ops.md, with the
// number of products and their scale taken from each op.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <stoker/tensor.h>

#include <stoker/attrs.h>

namespace stoker::test {

// One call of an op, and what the reference makes of it.
struct OpRun {
  std::string op;
  Attrs attrs;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
};

// The difference allowed to each element of each output. Outputs that are no floats must be equal
// whatever stands here.
using Tolerances = std::vector<std::vector<double>>;
using Bound = std::function<Tolerances(const OpRun&)>;

Bound exact();
// Units in the last place of the result; where a formula subtracts what is larger than its result,
// of `floor` at least.
Bound ulps(double count, double floor = 0);
// A sum of `products` products. Its scale is found by running the op once more with the inputs
// `linear` made absolute, and without the activation behind it.
Bound sums(double products, std::vector<size_t> linear);
// The same with one explicit scale an output.
Bound scaled(double products, std::function<std::vector<double>(const OpRun&)> scales);

}  // namespace stoker::test
