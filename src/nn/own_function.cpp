#include "nn/own_function.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/graph.h"
#include "graph/placement.h"
#include "nn/targets.h"

namespace stoker {

namespace {

// Keras's squeeze_or_expand_to_same_rank.
AlignedPair with_same_rank(const Value& y_true, const Value& y_pred) {
  int more = y_true.shape().rank() - y_pred.shape().rank();
  if (more == 1 && y_true.shape()[-1] == 1) {
    if (y_pred.shape().rank() == 1) return {y_true, ops::expand_dims(y_pred, -1)};
    return {ops::squeeze(y_true, -1), y_pred};
  }
  if (more == -1 && y_pred.shape()[-1] == 1) {
    if (y_true.shape().rank() == 1) return {ops::expand_dims(y_true, -1), y_pred};
    return {y_true, ops::squeeze(y_pred, -1)};
  }
  return {y_true, y_pred};
}

bool has_inner(const Shape& shape, int64_t extent) {
  return shape.rank() > 0 && std::find(shape.begin() + 1, shape.end(), extent) != shape.end();
}

// Whether ops could have taken the batch for another axis without an error: it has that axis's
// extent, or is 1.
bool may_mix_samples(const AlignedPair& pair, const Shape& result) {
  const Shape &y_true = pair.y_true.shape(), &y_pred = pair.y_pred.shape();
  int64_t batch = y_pred[0];
  if (batch > 1 && has_inner(result, batch)) return true;
  return y_true.rank() != y_pred.rank() &&
         (batch == 1 || has_inner(y_true, batch) || has_inner(y_pred, batch));
}

int64_t other_batch(const AlignedPair& pair) {
  constexpr std::array<int64_t, 3> kPrimes = {1009, 2003, 4001};
  for (int64_t prime : kPrimes)
    if (!has_inner(pair.y_true.shape(), prime) && !has_inner(pair.y_pred.shape(), prime))
      return prime;
  return 8009;
}

// Whether the function treats a batch of another size alike. A function that cannot be traced apart
// from its model (it refers to values of it) is believed.
bool belongs_to_samples(const OwnFunction& function, const AlignedPair& pair, const Shape& result) {
  int64_t batch = other_batch(pair);
  auto with_batch = [&](const Value& value) {
    return TensorSpec{value.dtype(), value.shape().with(0, batch)};
  };
  Graph scratch;
  Graph::Scope scope(scratch, "trial");
  try {
    Value values = function(scratch.input("y_true", with_batch(pair.y_true)),
                            scratch.input("y_pred", with_batch(pair.y_pred)));
    return values.shape() == (result.rank() == 0 ? result : result.with(0, batch));
  } catch (const ShapeError&) {
    return false;
  } catch (const Error&) {
    return true;
  }
}

Value run_own(const std::string& who, const OwnFunction& function, const AlignedPair& pair) {
  try {
    return function(pair.y_true, pair.y_pred);
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("{}: targets {}, predictions {}: {}", who,
                                 to_string(pair.y_true.spec()), to_string(pair.y_pred.spec()),
                                 error.what()));
  }
}

[[noreturn]] void fail_mixed(const std::string& who, const AlignedPair& pair, const Shape& result) {
  throw ShapeError(fmt::format(
      "{}: targets of shape {} and predictions of shape {} give {}, which mixes the samples of the "
      "batch: their axes meet by chance. Reshape or one-hot the targets so that both begin with "
      "the batch and have one rank, and return one value per sample, [{}]",
      who, to_string(pair.y_true.shape()), to_string(pair.y_pred.shape()), to_string(result),
      pair.y_pred.shape()[0]));
}

}  // namespace

AlignedPair aligned(const std::string& who, const Value& y_true, const Value& y_pred) {
  const Shape &targets = y_true.shape(), &predictions = y_pred.shape();
  if (targets.rank() == 0 || predictions.rank() == 0 || targets[0] != predictions[0])
    throw ShapeError(
        fmt::format("{}: expected targets and predictions of one batch, [B, ..], got {} and {}",
                    who, to_string(targets), to_string(predictions)));
  Value placed = y_pred.traced() ? place(*y_pred.traced()->graph, y_true) : y_true;
  Value floats = is_floating(y_pred.dtype()) ? cast_to(y_pred, DType::float32) : y_pred;
  AlignedPair pair = with_same_rank(placed, floats);
  if (pair.y_true.shape() == pair.y_pred.shape())
    pair.y_true = cast_to(pair.y_true, pair.y_pred.dtype());
  return pair;
}

Value call_own(const std::string& who, const OwnFunction& function, const Value& y_true,
               const Value& y_pred) {
  AlignedPair pair = aligned(who, y_true, y_pred);
  Value values = run_own(who, function, pair);
  if (!values.defined()) throw ShapeError(who + ": the function returned an undefined Value");
  const Shape& shape = values.shape();
  int64_t batch = pair.y_pred.shape()[0];
  if (shape.rank() > 0 && shape[0] != batch)
    throw ShapeError(fmt::format(
        "{}: expected one value per sample, [{}], or per element, [{}, ..], got {}; average over "
        "all axes but the first, ops::mean(x, {{.axes = {{1, …}}}})",
        who, batch, batch, to_string(shape)));
  if (may_mix_samples(pair, shape) && !belongs_to_samples(function, pair, shape))
    fail_mixed(who, pair, shape);
  return cast_to(values, DType::float32);
}

Value own_per_sample(const Value& values, int64_t batch) {
  return values.shape().rank() == 0 ? ops::broadcast_to(values, {batch}) : mean_per_sample(values);
}

void check_weighable(const std::string& who, const Value& values) {
  if (values.shape().rank() == 0)
    throw ShapeError(fmt::format(
        "{}: the function gives one value for the whole batch, which sample or class weights "
        "cannot weigh; return one value per sample, [B]",
        who));
}

}  // namespace stoker
