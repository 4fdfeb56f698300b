#include <stoker/ops.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"
#include "graph/op.h"

namespace stoker::ops {

BatchNormResult batch_norm(const Value& x, const Value& gamma, const Value& beta, double epsilon) {
  Values results =
      apply("batch_norm", {x, gamma, beta}, {{"epsilon", epsilon}, {"activation", std::string()}});
  return {.y = results[0], .mean = results[1], .variance = results[2]};
}

Value batch_norm_inference(const Value& x, const Value& gamma, const Value& beta, const Value& mean,
                           const Value& variance, double epsilon) {
  return apply1("batch_norm_inference", {x, gamma, beta, mean, variance},
                {{"epsilon", epsilon}, {"activation", std::string()}});
}

Value layer_norm(const Value& x, const Value& gamma, const Value& beta, double epsilon) {
  return apply1("layer_norm", {x, gamma, beta}, {{"epsilon", epsilon}});
}

Value weight_norm(const Value& v, const Value& g, int axis) {
  const Shape& shape = v.shape();
  int64_t kept = normalize_axis("weight_norm", axis, shape.rank());
  Ints others, along;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i != kept) others.push_back(i);
    along.push_back(i == kept ? shape[int(i)] : 1);
  }
  Value squares = emit::reduce("sum", square(v), others, true);
  return v * (emit::reshape(g, Shape(std::span<const int64_t>(along))) * rsqrt(squares));
}

}  // namespace stoker::ops
