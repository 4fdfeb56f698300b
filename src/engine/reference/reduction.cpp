// Many numbers in, one out.
#include <algorithm>
#include <cmath>
#include <limits>

#include <stoker/error.h>

#include "engine/reference/indexing.h"
#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

constexpr Number kInfinity = std::numeric_limits<Number>::infinity();

// Where element `index` of x goes when the reduced axes shrink to 1.
int64_t reduced_position(Index index, const Shape& kept, const Ints& axes) {
  for (int64_t axis : axes) index[size_t(axis)] = 0;
  return ravel(index, kept);
}

template <class Function>
void fold(const Call& call, Number start, Function function) {
  const Array& x = call.in(0);
  Array& y = call.out();
  const auto& axes = call.attrs.get<Ints>("axes");
  Shape kept = x.shape();
  for (int64_t axis : axes) kept.set(int(axis), 1);
  std::fill(y.data.begin(), y.data.end(), start);
  for (int64_t i = 0; i < x.size(); ++i) {
    Number& total = y[reduced_position(unravel(i, x.shape()), kept, axes)];
    total = function(total, x[i]);
  }
}

void reduce(const Call& call) {
  const auto& fn = call.attrs.get<std::string>("fn");
  auto plus = [](Number total, Number value) { return total + value; };
  if (fn == "sum") return fold(call, 0, plus);
  if (fn == "mean") {
    fold(call, 0, plus);
    Number count = Number(call.in(0).size()) / Number(call.out().size());
    for (Number& value : call.out().data) value /= count;
    return;
  }
  // The comparisons are written so that NaN stays once it has been met.
  if (fn == "max")
    return fold(call, -kInfinity, [](Number a, Number b) { return a >= b || a != a ? a : b; });
  if (fn == "min")
    return fold(call, kInfinity, [](Number a, Number b) { return a <= b || a != a ? a : b; });
  if (fn == "prod") return fold(call, 1, [](Number total, Number value) { return total * value; });
  throw ValueError("reduce: unknown function \"" + fn + "\"");
}

void argmax(const Call& call) {
  const Array& x = call.in(0);
  auto axis = int(call.attrs.get<int64_t>("axis"));
  Shape kept = x.shape().with(axis, 1);
  for (int64_t position = 0; position < call.out().size(); ++position) {
    Index index = unravel(position, kept);
    Number best = 0;
    for (int64_t candidate = 0; candidate < x.shape()[axis]; ++candidate) {
      index[size_t(axis)] = candidate;
      Number value = x[ravel(index, x.shape())];
      bool larger = candidate == 0 || value > best || (std::isnan(value) && !std::isnan(best));
      if (!larger) continue;
      best = value;
      call.out()[position] = Number(candidate);
    }
  }
}

}  // namespace

void add_reduction_kernels(KernelTable& table) {
  table["reduce"] = reduce;
  table["argmax"] = argmax;
}

}  // namespace stoker::reference
