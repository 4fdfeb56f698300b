// The operands of recurrent and recurrent_grad by name, for shape rules and engines.
//   recurrent       x, kernel, recurrent_kernel, bias, h [, c] [, mask] → y, last h [, last c]
//   recurrent_grad  those, y, dy, dh [, dc] → dx, dkernel, drecurrent_kernel, dbias, dh0 [, dc0]
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/op.h"

namespace stoker {

enum class Cell : uint8_t { lstm, gru, rnn_tanh, rnn_relu };

struct RecurrentShape {
  Cell cell = Cell::lstm;
  bool reverse = false, masked = false, zero_masked = false;
  int64_t batch = 0, length = 0, features = 0, units = 0;

  // ShapeError for operands that do not fit. `inputs`: at least those of recurrent.
  RecurrentShape(const Attrs& attrs, std::span<const TensorSpec> inputs);

  int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  int64_t columns() const { return gates() * units; }
  int64_t steps() const { return batch * length; }
  size_t states() const { return cell == Cell::lstm ? 2 : 1; }
  // Places among the operands.
  size_t mask() const { return 4 + states(); }
  size_t operands() const { return 4 + states() + size_t(masked); }  // of recurrent
  size_t y() const { return operands(); }
  size_t dy() const { return y() + 1; }
  size_t dstate(size_t state) const { return y() + 2 + state; }
  size_t grad_operands() const { return y() + 2 + states(); }
  // The step that is done as number `step`.
  int64_t at(int64_t step) const { return reverse ? length - 1 - step : step; }
};

// Both made of other ops, a loop over the steps: what second derivatives are derived from. A gradient
// that nothing depends on is undefined.
Values compose_recurrent(const Attrs& attrs, const Values& inputs);
Values compose_recurrent_grad(const Attrs& attrs, const Values& inputs);

}  // namespace stoker
