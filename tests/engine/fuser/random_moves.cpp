#include "engine/fuser/random_moves.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <stoker/ops.h>

#include "graph/emit.h"

namespace stoker::test {

RandomMoves::RandomMoves(uint64_t seed, const Options& options) : options_(options), rng_(seed) {
  constexpr auto kSteps = std::to_array<Step>(
      {&RandomMoves::unary, &RandomMoves::unary, &RandomMoves::binary, &RandomMoves::binary,
       &RandomMoves::broadcast, &RandomMoves::select, &RandomMoves::slice, &RandomMoves::pad,
       &RandomMoves::concat, &RandomMoves::transpose, &RandomMoves::reshape, &RandomMoves::upsample,
       &RandomMoves::reduce, &RandomMoves::cast});
  int64_t scale = options.scale;
  values_.push_back(input(
      {pick({1, 2, 3}), pick({2, 3, 4}), pick({2, 3, 4}) * scale, pick({3, 4, 8, 16}) * scale}));
  int64_t steps = rng_.integer(3, 12);
  for (int64_t i = 0; i < steps; ++i)
    (this->*kSteps[size_t(rng_.integer(0, int64_t(kSteps.size())))])();
  Value last = values_.back();
  graph.output(last, "last");
  if (values_.size() > 2) graph.output(values_[values_.size() / 2], "middle");
  if (!options.gradients) return;
  Value loss = ops::sum(ops::cast(last * ops::sigmoid(last), DType::float32));
  graph.output(loss, "loss");
  Values wrt = gradients(loss, leaves_, {.unconnected = Unconnected::zeros});
  for (size_t i = 0; i < wrt.size(); ++i) graph.output(wrt[i], fmt::format("gradient {}", i));
}

int64_t RandomMoves::pick(std::initializer_list<int64_t> choices) {
  return choices.begin()[rng_.integer(0, int64_t(choices.size()))];
}

Value RandomMoves::input(const Shape& shape) {
  inputs.push_back(draw({options_.dtype, shape}, {.low = -2, .high = 2}, rng_));
  leaves_.push_back(graph.input(fmt::format("x{}", leaves_.size()), {options_.dtype, shape}));
  return leaves_.back();
}

const Value& RandomMoves::some() {
  return values_[size_t(rng_.integer(0, int64_t(values_.size())))];
}

void RandomMoves::then(const std::string& what, const Value& value) {
  story += (story.empty() ? "" : " | ") + what;
  values_.push_back(value);
}

void RandomMoves::unary() {
  static constexpr auto kNames = std::to_array<const char*>(
      {"silu", "gelu", "relu", "sigmoid", "tanh", "square", "neg", "softplus", "hard_silu", "elu"});
  const char* name = kNames[size_t(rng_.integer(0, int64_t(kNames.size())))];
  then(name, emit::unary(name, values_.back(), 1));
}

void RandomMoves::binary() {
  static constexpr auto kNames =
      std::to_array<const char*>({"add", "sub", "mul", "maximum", "minimum"});
  const char* name = kNames[size_t(rng_.integer(0, int64_t(kNames.size())))];
  const Value& a = values_.back();
  Value b = some();
  if (b.shape() != a.shape()) b = input(a.shape());
  then(name, emit::binary(name, a, b));
}

void RandomMoves::broadcast() {
  const Value& a = values_.back();
  Shape small = a.shape();
  for (int axis = 0; axis < small.rank(); ++axis)
    if (rng_.integer(0, 2) == 0) small.set(axis, 1);
  if (rng_.integer(0, 2) == 0) small = small.drop_front(int(rng_.integer(0, small.rank() + 1)));
  then("broadcast " + to_string(small), a * input(small));
}

void RandomMoves::select() {
  const Value& a = values_.back();
  then("select", ops::where(ops::greater(a, Value(0.25)), a, input(a.shape())));
}

void RandomMoves::slice() {
  const Value& a = values_.back();
  Ints begin, size;
  for (int64_t extent : a.shape()) {
    begin.push_back(extent > 1 ? rng_.integer(0, extent / 2 + 1) : 0);
    size.push_back(std::max<int64_t>(rng_.integer(extent / 2, extent - begin.back() + 1), 1));
    size.back() = std::min(size.back(), extent - begin.back());
  }
  then("slice", ops::slice(a, begin, size));
}

void RandomMoves::pad() {
  const Value& a = values_.back();
  Ints before, after;
  for (int axis = 0; axis < a.shape().rank(); ++axis) {
    before.push_back(rng_.integer(0, 3));
    after.push_back(rng_.integer(0, 2));
  }
  then("pad", ops::pad(a, before, after, 0.5));
}

void RandomMoves::concat() {
  const Value& a = values_.back();
  if (a.shape().rank() == 0) return;
  auto axis = int(rng_.integer(0, a.shape().rank()));
  Values parts = {a, input(a.shape().with(axis, pick({1, 3, 8})))};
  if (rng_.integer(0, 2) == 0) std::swap(parts[0], parts[1]);
  if (rng_.integer(0, 3) == 0) parts.push_back(a);
  then(fmt::format("concat {}", axis), ops::concatenate(parts, axis));
}

void RandomMoves::transpose() {
  const Value& a = values_.back();
  Ints perm(size_t(a.shape().rank()));
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i)
    std::swap(perm[i - 1], perm[size_t(rng_.integer(0, int64_t(i)))]);
  then("transpose", ops::transpose(a, perm));
}

void RandomMoves::reshape() {
  const Value& a = values_.back();
  int64_t elements = a.shape().elements(), rows = pick({1, 2, 3, 4, 6});
  while (elements % rows != 0) --rows;
  then("reshape", ops::reshape(a, {rows, elements / rows}));
}

void RandomMoves::upsample() {
  const Shape s = values_.back().shape();
  if (s.rank() != 4 || s.elements() > 4000 * options_.scale * options_.scale) return;
  int64_t f = pick({2, 3});
  Value apart = ops::reshape(values_.back(), {s[0], s[1], 1, s[2], 1, s[3]});
  Value wide = ops::broadcast_to(apart, {s[0], s[1], f, s[2], f, s[3]});
  then("upsample", ops::reshape(wide, {s[0], s[1] * f, s[2] * f, s[3]}));
}

void RandomMoves::reduce() {
  const Value& a = values_.back();
  if (a.shape().rank() < 2) return;
  Ints axes;
  for (int64_t axis = 0; axis < a.shape().rank(); ++axis)
    if (rng_.integer(0, 2) == 0) axes.push_back(axis);
  static constexpr auto kNames = std::to_array<const char*>({"sum", "mean", "max", "min"});
  const char* name = kNames[size_t(rng_.integer(0, int64_t(kNames.size())))];
  bool keep = rng_.integer(0, 2) == 0;
  then(fmt::format("{}{}", name, axes.size()), emit::reduce(name, a, axes, keep));
}

void RandomMoves::cast() {
  const Value& a = values_.back();
  then("cast", ops::cast(ops::cast(a, DType::float32), options_.dtype));
}

}  // namespace stoker::test
