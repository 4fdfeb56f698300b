// The functions of src/graph/unary.h and their derivatives, one number at a time, in Number.
#pragma once

#include <stoker/attrs.h>
#include "engine/reference/array.h"
#include "graph/unary.h"

namespace stoker::reference {

// fn(x) with its two parameters.
Number unary_value(UnaryFn fn, Number x, Number alpha, Number beta);

// fn'(x), from x or from y = fn(x). The second exists where y determines it; ValueError elsewhere.
Number derivative_from_input(UnaryFn fn, Number x, Number alpha, Number beta);
Number derivative_from_output(UnaryFn fn, Number y, Number alpha, Number beta);

// The activation that fusion put behind an op (attributes `activation` and `alpha`); "" keeps x.
class Activation {
 public:
  explicit Activation(const Attrs& attrs);
  Number operator()(Number x) const;

 private:
  bool present_ = false;
  UnaryFn fn_{};
  Number alpha_ = 0, beta_ = 0;
};

}  // namespace stoker::reference
