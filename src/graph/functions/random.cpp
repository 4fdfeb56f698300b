#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>
#include <stoker/ops_random.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/graph.h"
#include "graph/placement.h"

namespace stoker::ops::random {

namespace {

// The key of one draw: a random state and a stream.
struct Key {
  Value state;
  int64_t stream = 0;
};

Key key_of(const char* what, const Values& inputs, std::optional<int64_t> seed) {
  if (seed) return {Tensor::from<int64_t>({*seed, 0}, {2}), 0};
  Graph* graph = inputs.empty() ? Graph::current() : graph_of(what, inputs);
  if (graph == nullptr)
    throw Error(
        fmt::format("ops::random::{}: there is no random state here; call it inside a "
                    "Lambda, the call() of a layer or function(), or give it a seed",
                    what));
  const Value& state = graph->random_state();
  if (!state.defined())
    throw Error(
        fmt::format("ops::random::{}: this graph has no random state; give it a seed", what));
  return {state, graph->next_stream()};
}

Value draw(const char* fn, const Key& key, const Shape& shape, Attrs attrs,
           const Values& parameters = {}) {
  attrs.set("fn", std::string(fn));
  attrs.set("shape", emit::dims(shape));
  attrs.set("stream", key.stream);
  Values operands = {key.state};
  for (const Value& parameter : parameters) {
    Value number = parameter.scalar() ? Value(Tensor::full({}, *parameter.scalar())) : parameter;
    operands.push_back(emit::broadcast_to(emit::cast(number, DType::float32), shape));
  }
  return apply1("random", operands, std::move(attrs));
}

Value around(const char* fn, const Shape& shape, const Normal& options) {
  if (!(options.stddev >= 0))
    throw ValueError(fmt::format("{}: stddev must not be negative, got {}", fn, options.stddev));
  Value drawn = draw(fn, key_of(fn, {}, options.seed), shape,
                     {{"low", options.mean}, {"high", options.stddev}});
  return emit::cast(drawn, options.dtype);
}

Value whole(const char* what, const Shape& shape, int64_t first, int64_t range, const Key& key) {
  if (range < 1) throw ValueError(fmt::format("{}: there is no number in an empty range", what));
  return draw("integer", key, shape, {{"first", first}, {"range", range}});
}

}  // namespace

Value normal(const Shape& shape, const Normal& options) { return around("normal", shape, options); }
Value truncated_normal(const Shape& shape, const Normal& options) {
  return around("truncated_normal", shape, options);
}

Value uniform(const Shape& shape, const Uniform& options) {
  if (!(options.minval <= options.maxval))
    throw ValueError(
        fmt::format("uniform: minval {} is above maxval {}", options.minval, options.maxval));
  if (!is_floating(options.dtype)) {
    constexpr double kMost = 0x1p62;  // their difference is an int64 too
    if (options.minval < -kMost || options.maxval > kMost)
      throw ValueError(fmt::format("uniform: {} to {}, expected limits within ±2^62 for {}",
                                   options.minval, options.maxval, name(options.dtype)));
    return randint(shape, int64_t(options.minval), int64_t(options.maxval),
                   {.dtype = options.dtype, .seed = options.seed});
  }
  Value drawn = draw("uniform", key_of("uniform", {}, options.seed), shape,
                     {{"low", options.minval}, {"high", options.maxval}});
  return emit::cast(drawn, options.dtype);
}

Value randint(const Shape& shape, int64_t minval, int64_t maxval, const Seeded& options) {
  Value drawn =
      whole("randint", shape, minval, maxval - minval, key_of("randint", {}, options.seed));
  return emit::cast(drawn, options.dtype);
}

Value gumbel(const Shape& shape, const Seeded& options) {
  return emit::cast(draw("gumbel", key_of("gumbel", {}, options.seed), shape, {}), options.dtype);
}

// The largest of the logits with noise of Gumbel's distribution.
Value categorical(const Value& logits, int64_t num_samples, const Seeded& options) {
  const Shape& shape = logits.shape();
  if (shape.rank() != 2)
    throw ShapeError(fmt::format("categorical: expected logits [B, C], got {}", to_string(shape)));
  Shape wide = {shape[0], num_samples, shape[1]};
  Value noise = draw("gumbel", key_of("categorical", {logits}, options.seed), wide, {});
  Value scores = emit::reshape(emit::cast(logits, DType::float32), {shape[0], 1, shape[1]}) + noise;
  return emit::cast(argmax(scores, -1), options.dtype);
}

Value bernoulli(const Shape& shape, const Value& probabilities, const Seeded& options) {
  Value u = draw("uniform", key_of("bernoulli", {}, options.seed), shape, {});
  return emit::cast(emit::compare("less", u, float_of(probabilities)), options.dtype);
}

Value binomial(const Shape& shape, const Value& counts, const Value& probabilities,
               const Seeded& options) {
  Value drawn =
      draw("binomial", key_of("binomial", {}, options.seed), shape, {}, {counts, probabilities});
  return emit::cast(drawn, options.dtype);
}

Value gamma(const Shape& shape, const Value& alpha, const Seeded& options) {
  return emit::cast(draw("gamma", key_of("gamma", {}, options.seed), shape, {}, {alpha}),
                    options.dtype);
}

// a / (a + b) of two gamma draws, of other streams.
Value beta(const Shape& shape, const Value& alpha, const Value& beta, const Seeded& options) {
  Key first = key_of("beta", {}, options.seed), second = first;
  second.stream = options.seed ? 1 : key_of("beta", {}, {}).stream;
  Value a = draw("gamma", first, shape, {}, {alpha}), b = draw("gamma", second, shape, {}, {beta});
  return emit::cast(a / (a + b), options.dtype);
}

Value shuffle(const Value& x, int axis, std::optional<int64_t> seed) {
  int64_t at = normalize_axis("shuffle", axis, x.shape().rank()), n = x.shape()[int(at)];
  if (n < 0)
    throw ShapeError("shuffle: the batch of a functional model has no size yet; use a Lambda");
  if (n == 0) return x;
  Value keys = whole("shuffle", {n}, INT32_MIN, int64_t(1) << 32, key_of("shuffle", {x}, seed));
  return apply1("take", {x, argsort(keys)}, {{"axis", at}});
}

Value dropout(const Value& x, double rate, std::optional<int64_t> seed) {
  Key key = key_of("dropout", {x}, seed);
  return ops::dropout(x, key.state, rate, key.stream);
}

}  // namespace stoker::ops::random
