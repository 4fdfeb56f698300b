#include "nn/decoding.h"

#include <fmt/format.h>
#include <stoker/error.h>

#include "graph/graph.h"
#include "nn/counting.h"
#include "nn/masks.h"

namespace stoker {

namespace {

struct DecodingNote {
  std::optional<Decoding> decoding;
};

// [B, length, …] with x's rank and an extent of 1 everywhere but along the steps.
Shape along_steps(const Shape& x) {
  Shape shape = x;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis != 1) shape.set(axis, 1);
  return shape;
}

// Steps [B, T, …] moved to the places position … position + T - 1 of [B, length, …]; what stands in
// the other places is not used.
Value spread(const Value& steps, const Value& from, int64_t length) {
  int64_t count = steps.shape()[1];
  std::vector<int64_t> swap(size_t(steps.shape().rank()));
  for (size_t i = 0; i < swap.size(); ++i) swap[i] = int64_t(i);
  std::swap(swap[0], swap[1]);
  Value source = ops::minimum(ops::maximum(counting(length) - from, 0), count - 1);
  return ops::transpose(ops::gather(ops::transpose(steps, swap), source), swap);
}

}  // namespace

void begin_decoding(Graph& graph, Decoding decoding) {
  graph.notes<DecodingNote>().decoding = std::move(decoding);
}

const Decoding* decoding_of(Graph& graph) {
  for (Graph* each = &graph; each != nullptr; each = each->outer())
    if (const auto& found = each->notes<DecodingNote>().decoding) return &*found;
  return nullptr;
}

Value extend_cache(CallContext& context, const Decoding& decoding, const std::string& name,
                   const Value& steps) {
  const Shape& shape = steps.shape();
  if (shape[1] > decoding.length)
    throw ShapeError(fmt::format("{}: {} steps at once do not fit a cache of {}", name, shape[1],
                                 decoding.length));
  Variable cache = decoding.cache(name, {steps.dtype(), shape.with(1, decoding.length)});
  Value places =
      ops::reshape(counting(decoding.length), along_steps(shape.with(1, decoding.length)));
  Value begin = decoding.position, end = begin + shape[1];
  Value is_new = both(ops::less(places, end), ops::greater_equal(places, begin));
  Value moved = shape[1] == 1 ? steps : spread(steps, begin, decoding.length);
  Value extended = ops::where(is_new, moved, context.current(cache));
  context.update(cache, extended);
  return extended;
}

Value seen_in_cache(const Decoding& decoding, int64_t steps) {
  Value mine = ops::reshape(counting(steps), {1, 1, steps, 1}) + decoding.position;
  return ops::less_equal(ops::reshape(counting(decoding.length), {1, 1, 1, decoding.length}), mine);
}

Value positions_of(CallContext& context, int64_t steps) {
  const Decoding* decoding = decoding_of(context.graph());
  return decoding == nullptr ? counting(steps) : counting(steps) + decoding->position;
}

}  // namespace stoker
