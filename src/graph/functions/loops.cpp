// Conditions and loops, written with select and scan.
#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_loops.h>
#include <stoker/ops_math.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/functions/loops.h"

namespace stoker::ops {

namespace {

void expect_one(const char* what, const Value& condition) {
  if (condition.shape().rank() != 0)
    throw ShapeError(fmt::format("{}: expected a scalar, got {}; ops::where chooses by element",
                                 what, to_string(condition.spec())));
}

void expect_alike(const char* what, const Values& a, const Values& b) {
  bool alike = a.size() == b.size();
  for (size_t i = 0; alike && i < a.size(); ++i) alike = a[i].shape() == b[i].shape();
  if (!alike)
    throw ShapeError(fmt::format("{}: all branches must give values of the same shapes", what));
}

Values chosen(const Value& condition, const Values& a, const Values& b) {
  Values taken;
  for (size_t i = 0; i < a.size(); ++i) taken.push_back(where(condition, a[i], b[i]));
  return taken;
}

}  // namespace

Values cond(const Value& condition, const std::function<Values()>& if_true,
            const std::function<Values()>& if_false) {
  expect_one("cond", condition);
  Values a = if_true(), b = if_false();
  expect_alike("cond", a, b);
  return chosen(truth(condition), a, b);
}

Value cond(const Value& condition, const std::function<Value()>& if_true,
           const std::function<Value()>& if_false) {
  return cond(
      condition, [&] { return Values{if_true()}; }, [&] { return Values{if_false()}; })[0];
}

Values switch_(const Value& index, const std::vector<std::function<Values()>>& branches) {
  expect_one("switch_", index);
  if (branches.empty()) throw ValueError("switch_: expected at least one branch, got none");
  Values taken = branches.back()();
  for (size_t i = branches.size() - 1; i-- > 0;) {
    Values made = branches[i]();
    expect_alike("switch_", taken, made);
    taken = chosen(emit::compare("less_equal", index, double(i)), made, taken);
  }
  return taken;
}

Values fori_loop(int64_t lower, int64_t upper,
                 const std::function<Values(const Value& i, const Values& variables)>& body,
                 const Values& variables) {
  if (upper <= lower) return variables;
  Value numbers = arange(Step(lower), Step(upper), Step(1), DType::int32);
  auto step = [&](const Values& carry, const Values& slices) {
    return ScanStep{body(slices[0], carry), {}};
  };
  return scan(step, variables, {numbers}).carry;
}

Values while_loop(const LoopCondition& condition, const LoopBody& body, const Values& variables,
                  const While& options) {
  if (options.maximum_iterations < 1)
    throw ValueError(
        "while_loop: a graph has loops of a fixed length; give .maximum_iterations, the most steps "
        "it may take");
  // `going` falls once and stays.
  auto step = [&](const Values& carry, const Values&) {
    Values now(carry.begin() + 1, carry.end());
    Value holds = condition(now);
    expect_one("while_loop", holds);
    Value going = logical_and(carry[0], holds);
    Values next = body(now);
    if (next.size() != now.size())
      throw ValueError(
          fmt::format("while_loop: the body gives {} values, got {}", next.size(), now.size()));
    Values kept = chosen(going, next, now);
    kept.insert(kept.begin(), going);
    return ScanStep{kept, {}};
  };
  Values carry = variables;
  carry.insert(carry.begin(), Value(Tensor::full({}, 1, DType::bool_)));
  Values end = scan_with_gate(step, carry, {}, {.length = options.maximum_iterations}, 0).carry;
  return {end.begin() + 1, end.end()};
}

Values map(const std::function<Values(const Values& slices)>& f, const Values& x) {
  auto step = [&](const Values&, const Values& slices) { return ScanStep{{}, f(slices)}; };
  return scan(step, {}, x).outputs;
}

Value map(const std::function<Value(const Value& slice)>& f, const Value& x) {
  return map([&](const Values& slices) { return Values{f(slices[0])}; }, Values{x})[0];
}

Value vectorized_map(const std::function<Value(const Value& slice)>& f, const Value& x) {
  return map(f, x);
}

namespace {

// Every second slice along dimension 0, from `begin`.
Values every_second(const Values& x, int64_t begin, int64_t end) {
  Values part;
  for (const Value& each : x)
    part.push_back(get_item(each, {{.begin = begin, .end = end, .step = 2}}));
  return part;
}

// Pairs are joined, the half of them is scanned, and what stands between follows.
Values scan_pairs(const Associative& f, const Values& x) {
  int64_t n = x[0].shape()[0];
  if (n < 2) return x;
  int64_t pairs = n / 2;
  Values odd = scan_pairs(f, f(every_second(x, 0, 2 * pairs), every_second(x, 1, 2 * pairs)));
  Values first, rest, before;
  for (size_t i = 0; i < x.size(); ++i) {
    first.push_back(get_item(x[i], {{.begin = 0, .end = 1}}));
    rest.push_back(get_item(x[i], {{.begin = 2, .end = n, .step = 2}}));
    before.push_back(get_item(odd[i], {{.begin = 0, .end = (n - 1) / 2}}));
  }
  Values even = n > 2 ? f(before, rest) : Values();
  Values all;
  for (size_t i = 0; i < x.size(); ++i) {
    Value evens = n > 2 ? concatenate({first[i], even[i]}, 0) : first[i];
    std::vector<int64_t> order;  // places in [evens.., odds..]
    for (int64_t at = 0; at < n; ++at) order.push_back(at % 2 == 0 ? at / 2 : (n + 1) / 2 + at / 2);
    all.push_back(take(concatenate({evens, odd[i]}, 0), Tensor::from(order, {n}), 0));
  }
  return all;
}

}  // namespace

Values associative_scan(const Associative& f, const Values& x, int axis) {
  if (x.empty()) return x;
  Values front, back;
  for (const Value& each : x) front.push_back(moveaxis(each, {axis}, {0}));
  for (const Value& each : scan_pairs(f, front)) back.push_back(moveaxis(each, {0}, {axis}));
  return back;
}

}  // namespace stoker::ops
