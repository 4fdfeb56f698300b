// The op of loops. A node "scan" runs a graph of its own, the body, `length` times. Its operands are
// the body's inputs, each in one of three roles; its results are, in this order,
//   the carries after the last step,
//   what every step gave, stacked: [length, …],
//   the carries before each step, stacked (for the gradient; engines make only what is read).
#pragma once

#include <memory>

#include "graph/graph.h"

namespace stoker {

enum class ScanRole : uint8_t {
  carry,     // from step to step
  sequence,  // [length, …]: a slice per step
  captured,  // the same in every step
};

// A scan node's attributes.
struct ScanCall {
  std::shared_ptr<const Graph> body;  // outputs: the new carries, then what a step gives
  int64_t length = 0;
  bool reverse = false;         // from the last slice to the first; results stand where they belong
  std::vector<ScanRole> roles;  // by input of the body, which are the operands of the node
  // An input of the body, bool []. Where it is false the step changes no carry and gives zeros, so
  // that an engine may leave it out. -1: none, every step runs.
  int64_t gate = -1;

  explicit ScanCall(const Attrs& attrs);
  ScanCall(std::shared_ptr<const Graph> graph, int64_t steps, bool backwards,
           std::vector<ScanRole> input_roles);
  Attrs attrs() const;

  size_t carries() const { return inputs_of(ScanRole::carry).size(); }
  size_t results() const { return body->outputs().size() - carries(); }  // of a step
  std::vector<size_t> inputs_of(ScanRole role) const;
  const TensorSpec& input(size_t index) const { return body->spec(body->inputs()[index].value); }
  const TensorSpec& output(size_t index) const { return body->spec(body->outputs()[index].value); }
  // The slice that is step number `step`.
  int64_t slice(int64_t step) const { return reverse ? length - 1 - step : step; }
};

}  // namespace stoker
