// Ops that look at one element after the other and remember something: take_while, unique, scan,
// rejection_resample. What follows is a stream; going on in the middle makes the elements before
// again.
#pragma once

#include <functional>
#include <memory>

#include "data/runtime/planning.h"

namespace stoker::data {

enum class Verdict : uint8_t { keep, drop, end };

// One epoch of such an op; one thread at a time.
class Pass {
 public:
  virtual ~Pass() = default;
  // `ticket` holds an element that could be made; it may be replaced. What it throws becomes an
  // element that fails.
  virtual Verdict see(Ticket& ticket) = 0;
};
using BeginPass = std::function<std::unique_ptr<Pass>(int64_t epoch)>;

// The plan of a node with one input whose elements go through a pass.
Planned in_order(const Node& node, PlanContext& context, BeginPass begin);

// Elements in front of which components are put.
ElementSpec with_front(const TensorSpec& front, const ElementSpec& rest);

}  // namespace stoker::data
