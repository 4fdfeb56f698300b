// Circle: embeddings of one class close together, others apart.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/placement.h"
#include "nn/losses/loss_kind.h"
#include "nn/masks.h"

namespace stoker {

namespace {

constexpr double kNoPair = -1e30;  // in place of a logarithm of 0

// log Σ exp(x) over the last axis, of the elements where `counts`; about kNoPair where none does.
Value log_sum_exp(const Value& x, const Value& counts) {
  Value kept = ops::where(counts, x, kNoPair);
  Value most = ops::stop_gradient(ops::max(kept, {.axes = {-1}, .keepdims = true}));
  Value sums = ops::sum(ops::exp(kept - most), {.axes = {-1}});
  return ops::log(sums) + ops::squeeze(most, -1);
}

Tensor row_numbers(int64_t count, const Shape& shape) {
  std::vector<int32_t> numbers;
  for (int64_t at = 0; at < count; ++at) numbers.push_back(int32_t(at));
  return Tensor::from(numbers, shape);
}

struct CircleLoss : CircleOptions {
  static constexpr KindNames kNames = {"Circle", "circle"};
  static constexpr TargetKind kTarget = TargetKind::free;
  static Fields<CircleLoss> fields() {
    return {{"gamma", &CircleLoss::gamma, above(0)},
            {"margin", &CircleLoss::margin},
            {"remove_diagonal", &CircleLoss::remove_diagonal}};
  }

  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value ids = class_column(y_true, y_pred);
    int64_t batch = y_pred.shape()[0];
    Value same = ops::equal(ids, ops::transpose(ids, {1, 0}));
    Value different = ops::not_equal(ids, ops::transpose(ids, {1, 0}));
    if (remove_diagonal)
      same = both(same, ops::not_equal(Value(row_numbers(batch, {batch, 1})),
                                       Value(row_numbers(batch, {1, batch}))));
    Value embeddings = cast_to(y_pred, DType::float32);
    Value distances =
        ops::maximum(1.0 - ops::matmul(embeddings, embeddings, {.transpose_b = true}), 0.0);
    Value pull = ops::maximum(distances + margin, 0.0) * (margin - distances) * -gamma;
    Value push = ops::maximum(1 + margin - distances, 0.0) * (1 - margin - distances) * gamma;
    Value losses = ops::softplus(log_sum_exp(pull, same) + log_sum_exp(push, different));
    set_mask(losses, ops::greater(losses, 0.0), std::string(kNames.name));
    return losses;
  }

 private:
  // int32 [B, 1]
  static Value class_column(const Value& y_true, const Value& y_pred) {
    const Shape &given = y_true.shape(), &embeddings = y_pred.shape();
    bool column = given.rank() == 1 || (given.rank() == 2 && given[1] == 1);
    if (embeddings.rank() != 2 || !column || given[0] != embeddings[0])
      throw ShapeError(fmt::format(
          "{}: expected embeddings [B, E] and class ids [B], got predictions {} and targets {}",
          kNames.name, to_string(embeddings), to_string(given)));
    Value placed = y_pred.traced() ? place(*y_pred.traced()->graph, y_true) : y_true;
    return cast_to(ops::reshape(placed, {given[0], 1}), DType::int32);
  }
};

}  // namespace

Loss Circle(const CircleOptions& options) { return made_loss(CircleLoss{options}); }

Value circle(const Value& y_true, const Value& y_pred, const CircleOptions& options) {
  return Circle(options)(y_true, y_pred);
}

void add_circle_loss(std::vector<LossKind>& kinds) { kinds.push_back(loss_kind<CircleLoss>()); }

}  // namespace stoker
