// reshape, transpose, concat, slice, pad, broadcast_to, identity.
#include <algorithm>

#include <fmt/format.h>

#include "graph/emit.h"
#include "graph/ops/bitcast.h"
#include "graph/ops/shape_rules.h"

namespace stoker {

using namespace rules;

namespace {

// --- reshape ---

using Extents = std::span<const int64_t>;

// Fills in `wanted`, where several extents are -1: it is `have` with ones put in or taken out.
bool fill_in(Extents wanted, Extents have, Ints& filled) {
  if (wanted.empty()) return std::ranges::all_of(have, [](int64_t extent) { return extent == 1; });
  auto take = [&](int64_t extent, Extents rest) {
    filled.push_back(extent);
    bool fits = fill_in(wanted.subspan(1), rest, filled);
    if (!fits) filled.pop_back();
    return fits;
  };
  bool alike = !have.empty() && (wanted[0] == -1 || wanted[0] == have[0]);
  if (alike && take(have[0], have.subspan(1))) return true;
  if (wanted[0] == 1 && take(1, have)) return true;
  return !have.empty() && have[0] == 1 && fill_in(wanted, have.subspan(1), filled);
}

// `wanted` with its one -1 filled in from the number of elements of `have`; several as fill_in().
Shape resolve(const Shape& wanted, const Shape& have) {
  auto mismatch = [&](std::string_view why) {
    return ShapeError(
        fmt::format("{} cannot become {}: {}", to_string(have), to_string(wanted), why));
  };
  auto unknown = std::ranges::find(wanted, -1);
  if (std::count(wanted.begin(), wanted.end(), -1) > 1) {
    Ints filled;
    if (!fill_in(wanted.dims(), have.dims(), filled))
      throw mismatch("at most one dimension may be -1, unless all others stay as they are");
    return to_shape(filled);
  }
  Shape shape = wanted;
  if (unknown != wanted.end()) {
    int axis = int(unknown - wanted.begin());
    int64_t others = wanted.with(axis, 1).elements();
    if (others == 0 || have.elements() % others != 0)
      throw mismatch(fmt::format("{} elements do not divide into {}", have.elements(), others));
    shape.set(axis, have.elements() / others);
  }
  if (shape.elements() != have.elements())
    throw mismatch(fmt::format("{} elements into {}", have.elements(), shape.elements()));
  return shape;
}

// `groups` counts that make `axes` together. A file may say anything.
void expect_groups(const Ints& counts, int axes, size_t groups) {
  int64_t left = axes;
  for (int64_t count : counts) left = count < 0 || count > left ? -1 : left - count;
  if (counts.size() != groups || left != 0)
    throw ShapeError(fmt::format("expected groups that make {} axes", axes));
}

// Every axis of `have` becomes counts[i] axes of `wanted`, of which one may be -1.
Shape resolve_split(const Shape& wanted, const Shape& have, const Ints& counts) {
  expect_groups(counts, wanted.rank(), size_t(have.rank()));
  Ints filled;
  for (int axis = 0; axis < have.rank(); ++axis) {
    Ints group;
    for (int64_t i = 0; i < counts[size_t(axis)]; ++i)
      group.push_back(wanted[int(filled.size()) + int(i)]);
    Shape whole = Shape(std::span<const int64_t>(&have.dims()[size_t(axis)], 1));
    for (int64_t extent : resolve(to_shape(group), whole)) filled.push_back(extent);
  }
  return to_shape(filled);
}

// counts[i] axes of `have` become axis i.
Shape resolve_merge(const Shape& have, const Ints& counts) {
  expect_groups(counts, have.rank(), counts.size());
  Ints filled;
  int axis = 0;
  for (int64_t count : counts) {
    filled.push_back(1);
    for (int64_t i = 0; i < count; ++i) filled.back() *= have[axis++];
  }
  return to_shape(filled);
}

std::vector<TensorSpec> infer_reshape(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  if (attrs.has("split"))
    return {{inputs[0].dtype, resolve_split(to_shape(attrs.get<Ints>("shape")), inputs[0].shape,
                                            attrs.get<Ints>("split"))}};
  if (attrs.has("merge"))
    return {{inputs[0].dtype, resolve_merge(inputs[0].shape, attrs.get<Ints>("merge"))}};
  return {{inputs[0].dtype, resolve(to_shape(attrs.get<Ints>("shape")), inputs[0].shape)}};
}

Values reshape_gradient(const GradientCall& call) {
  return {emit::reshape(call.output_gradients[0], call.inputs[0].shape())};
}

// --- transpose ---

std::vector<TensorSpec> infer_transpose(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  const auto& perm = attrs.get<Ints>("perm");
  const Shape& shape = inputs[0].shape;
  Ints sorted = perm, dims;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size() || int(i) < shape.rank(); ++i)
    if (sorted.size() != size_t(shape.rank()) || sorted[i] != int64_t(i))
      throw ShapeError(fmt::format("expected perm to name each of the {} axes once", shape.rank()));
  for (int64_t axis : perm) dims.push_back(shape[int(axis)]);
  return {{inputs[0].dtype, to_shape(dims)}};
}

Values transpose_gradient(const GradientCall& call) {
  const auto& perm = call.attrs.get<Ints>("perm");
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[size_t(perm[i])] = int64_t(i);
  return {emit::transpose(call.output_gradients[0], inverse)};
}

// --- concat ---

std::vector<TensorSpec> infer_concat(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1, SIZE_MAX);
  int64_t axis = attrs.get<int64_t>("axis");
  expect_axis(axis, inputs[0].shape);
  int64_t sum = 0;
  for (const TensorSpec& input : inputs) {
    if (input.shape.rank() != inputs[0].shape.rank() ||
        TensorSpec{input.dtype, input.shape.with(int(axis), 0)} !=
            TensorSpec{inputs[0].dtype, inputs[0].shape.with(int(axis), 0)})
      throw ShapeError(fmt::format("expected inputs that differ on axis {} only, got {} and {}",
                                   axis, to_string(inputs[0]), to_string(input)));
    sum += input.shape[int(axis)];
  }
  return {{inputs[0].dtype, inputs[0].shape.with(int(axis), sum)}};
}

Values concat_gradient(const GradientCall& call) {
  auto axis = size_t(call.attrs.get<int64_t>("axis"));
  Values gradients(call.inputs.size());
  Ints begin(size_t(call.outputs[0].shape().rank()), 0);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Shape& part = call.inputs[i].shape();
    if (call.needed[i])
      gradients[i] = emit::slice(call.output_gradients[0], begin, emit::dims(part));
    begin[axis] += part[int(axis)];
  }
  return gradients;
}

// --- slice and pad, each the other's gradient ---

std::vector<TensorSpec> infer_slice(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  Shape shape = inputs[0].shape;
  const auto &begin = attrs.get<Ints>("begin"), &size = attrs.get<Ints>("size");
  expect_length(begin, size_t(shape.rank()), "begin");
  expect_length(size, size_t(shape.rank()), "size");
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int64_t from = begin[size_t(axis)], have = shape[axis];
    int64_t count = size[size_t(axis)] == -1 ? have - from : size[size_t(axis)];
    if (from < 0 || count < 0 || from + count > have)
      throw ShapeError(fmt::format("{} elements from {} on axis {} lie outside {}",
                                   size[size_t(axis)], from, axis, to_string(inputs[0].shape)));
    shape.set(axis, count);
  }
  return {{inputs[0].dtype, shape}};
}

Values slice_gradient(const GradientCall& call) {
  const auto& before = call.attrs.get<Ints>("begin");
  const Shape &whole = call.inputs[0].shape(), &part = call.outputs[0].shape();
  Ints after;
  for (int axis = 0; axis < whole.rank(); ++axis)
    after.push_back(whole[axis] - before[size_t(axis)] - part[axis]);
  return {apply1("pad", {call.output_gradients[0]},
                 {{"before", before}, {"after", after}, {"value", 0.0}})};
}

std::vector<TensorSpec> infer_pad(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  Shape shape = inputs[0].shape;
  const auto &before = attrs.get<Ints>("before"), &after = attrs.get<Ints>("after");
  expect_length(before, size_t(shape.rank()), "before");
  expect_length(after, size_t(shape.rank()), "after");
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int64_t front = before[size_t(axis)], back = after[size_t(axis)];
    if (front < 0 || back < 0)
      throw ShapeError(fmt::format(
          "expected padding of 0 or more, got {} and {} on axis {}; slice() removes elements",
          front, back, axis));
    shape.set(axis, shape[axis] + front + back);
  }
  return {{inputs[0].dtype, shape}};
}

Values pad_gradient(const GradientCall& call) {
  return {emit::slice(call.output_gradients[0], call.attrs.get<Ints>("before"),
                      emit::dims(call.inputs[0].shape()))};
}

// --- broadcast_to ---

// A -1 keeps the input's extent.
std::vector<TensorSpec> infer_broadcast_to(const Attrs& attrs, Specs inputs) {
  expect_count(inputs, 1);
  const Shape& from = inputs[0].shape;
  Shape to = to_shape(attrs.get<Ints>("shape"));
  for (int axis = 1; axis <= std::min(from.rank(), to.rank()); ++axis)
    if (to[-axis] == -1) to.set(-axis, from[-axis]);
  if (!to.is_known() || from.rank() > to.rank() || broadcast(from, to) != to)
    throw ShapeError(fmt::format("{} does not broadcast to {}", to_string(from), to_string(to)));
  return {{inputs[0].dtype, to}};
}

Values broadcast_to_gradient(const GradientCall& call) {
  return {emit::sum_to(call.output_gradients[0], call.inputs[0].shape())};
}

// A slice reads what it gives, not the whole.
Cost slice_cost(const Attrs&, Specs, Specs outputs) {
  return {.flops = 0, .bytes = 2 * bytes(outputs[0])};
}

// identity stops the gradient: it has a rule, which gives none.
Values no_gradient(const GradientCall& call) { return Values(call.inputs.size()); }

void add(OpRegistry& registry, std::string name, Infer infer, decltype(OpDef::gradient) gradient,
         OpTraits traits = {}, CostRule cost = no_flops()) {
  traits.moves = true;
  registry.add({.name = std::move(name),
                .infer = std::move(infer),
                .gradient = std::move(gradient),
                .cost = std::move(cost),
                .dtypes = all_but_bytes(),
                .in_place = traits.shares_bytes ? shares({{0, 0}}) : nullptr,
                .traits = traits});
}

}  // namespace

void register_shape_ops(OpRegistry& registry) {
  add(registry, "reshape", infer_reshape, reshape_gradient, {.shares_bytes = true});
  add(registry, "transpose", infer_transpose, transpose_gradient);
  add(registry, "concat", infer_concat, concat_gradient, {.operands = Operands::one_dtype});
  add(registry, "slice", infer_slice, slice_gradient, {}, slice_cost);
  add(registry, "pad", infer_pad, pad_gradient);
  add(registry, "broadcast_to", infer_broadcast_to, broadcast_to_gradient, {.elementwise = true});
  add(registry, "identity", same_as_first(1), no_gradient,
      {.shares_bytes = true, .stops_gradient = true});
  register_bitcast_op(registry);
}

}  // namespace stoker
