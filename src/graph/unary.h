// The elementwise functions of the op "unary" {fn, alpha, beta}, in one table. A backend implements
// value(fn) and derivative(fn) for each entry; the derivative is taken from the output where that
// is enough, so that the input need not be kept.
#pragma once

#include <span>
#include <string_view>

#include "graph/unary_fn.h"

namespace stoker {

struct UnaryInfo {
  UnaryFn fn;
  std::string_view name;
  bool gradient_from_output;  // unary_grad's first operand is y, not x
  double flops;               // an estimate, per element
};

std::span<const UnaryInfo> unary_functions();
const UnaryInfo& unary_info(std::string_view name);  // ValueError lists the names
const UnaryInfo& unary_info(UnaryFn fn);

}  // namespace stoker
