// CTC: the likelihood of a label sequence, summed over all its alignments with the time steps. The
// forward recursion runs in one loop of the graph, in logarithms; its gradient is the loop's.
#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>

#include "graph/placement.h"
#include "nn/losses/loss_kind.h"
#include "nn/losses/probabilities.h"
#include "nn/masks.h"

namespace stoker {

namespace {

constexpr double kLogOfZero = -1e30;  // finite, so that differences of two stay numbers

// log(eᵃ + eᵇ)
Value log_add(const Value& a, const Value& b) {
  Value most = ops::stop_gradient(ops::maximum(a, b));
  return most + ops::log(ops::exp(a - most) + ops::exp(b - most));
}

// x moved right by `count` places of the last axis. x: [B, S]
Value shifted(const Value& x, int64_t count) {
  int64_t rows = x.shape()[0], columns = x.shape()[1];
  if (columns <= count) return Tensor::full({rows, columns}, kLogOfZero);
  return ops::pad(ops::slice(x, {0, 0}, {rows, columns - count}), {0, count}, {0, 0}, kLogOfZero);
}

// The labels with blanks around them: int32 [B, 2 L + 1].
Value with_blanks(const Value& labels) {
  int64_t rows = labels.shape()[0], length = labels.shape()[1];
  Value pairs = ops::pad(ops::expand_dims(labels, 2), {0, 0, 1}, {0, 0, 0});
  return ops::pad(ops::reshape(pairs, {rows, 2 * length}), {0, 0}, {0, 1});
}

struct CTCLoss : LossOptions {
  static constexpr KindNames kNames = {"CTC", "ctc"};
  static constexpr TargetKind kTarget = TargetKind::free;
  static Fields<CTCLoss> fields() { return {}; }

  Value operator()(const Value& y_true, const Value& y_pred) const {
    Value labels = checked_labels(y_true, y_pred);
    Value states = with_blanks(labels);               // [B, S]
    Value emissions = log_emissions(states, y_pred);  // [T, B, S]
    Value skips = skip_penalties(states, labels);     // [B, S]
    Value first = first_states(emissions);
    auto step = [&](const Values& carry, const Values& slices) {
      const Value& paths = carry[0];
      Value stay = log_add(paths, shifted(paths, 1));
      Value next = log_add(stay, shifted(paths, 2) + skips) + slices[0];
      return ops::ScanStep{{next}, {}};
    };
    int64_t steps = emissions.shape()[0];
    Value last = first;
    if (steps > 1) {
      Ints begin(3, 0), size(3, -1);
      begin[0] = 1;
      last = ops::scan(step, {first}, {ops::slice(emissions, begin, size)}).carry[0];
    }
    return from_last(last, labels);
  }

 private:
  // int32 [B, L]
  static Value checked_labels(const Value& y_true, const Value& y_pred) {
    const Shape &labels = y_true.shape(), &logits = y_pred.shape();
    if (labels.rank() != 2 || logits.rank() != 3 || labels[0] != logits[0])
      throw ShapeError(
          fmt::format("ctc: expected logits [B, T, classes] and labels [B, L], padded with 0, got "
                      "predictions {} and targets {}",
                      to_string(logits), to_string(labels)));
    limit_class_ids(y_true, logits[-1]);
    Value placed = y_pred.traced() ? place(*y_pred.traced()->graph, y_true) : y_true;
    return cast_to(placed, DType::int32);
  }

  // log p of every state's label at every step.
  static Value log_emissions(const Value& states, const Value& y_pred) {
    Value log_p = ops::log_softmax(cast_to(y_pred, DType::float32));
    Value picks = ops::one_hot(states, y_pred.shape()[-1]);              // [B, S, C]
    Value emissions = ops::matmul(log_p, picks, {.transpose_b = true});  // [B, T, S]
    return ops::transpose(emissions, {1, 0, 2});
  }

  // 0 where a path may come from two states before: a label other than the one before it.
  static Value skip_penalties(const Value& states, const Value& labels) {
    int64_t rows = labels.shape()[0], columns = states.shape()[1];
    Value before = columns > 2
                       ? ops::pad(ops::slice(states, {0, 0}, {rows, columns - 2}), {0, 2}, {0, 0})
                       : Value(Tensor::zeros({rows, columns}, DType::int32));
    Value may = both(ops::not_equal(states, 0.0), ops::not_equal(states, before));
    return ops::where(may, Value(Tensor::full({rows, columns}, 0.0)), kLogOfZero);
  }

  // A path begins with the first blank or the first label.
  static Value first_states(const Value& emissions) {
    int64_t rows = emissions.shape()[1], columns = emissions.shape()[2];
    Value first =
        ops::reshape(ops::slice(emissions, {0, 0, 0}, {1, rows, columns}), {rows, columns});
    Tensor start = Tensor::full({1, columns}, kLogOfZero);
    for (int64_t at = 0; at < std::min<int64_t>(columns, 2); ++at) start.data_mut<float>()[at] = 0;
    return ops::maximum(first + Value(start), kLogOfZero);
  }

  // A path ends with the last label or the blank behind it. Infinite where there is none: more
  // labels than steps.
  static Value from_last(const Value& last, const Value& labels) {
    Value lengths = ops::sum(cast_to(ops::not_equal(labels, 0.0), DType::int32), {.axes = {1}});
    int64_t columns = last.shape()[1];
    auto at = [&](const Value& index) {
      return ops::sum(last * ops::one_hot(index, columns), {.axes = {1}});
    };
    Value blank = at(lengths * 2), label = at(ops::maximum(lengths * 2 - 1, 0));
    label = ops::where(ops::equal(lengths, 0.0), kLogOfZero, label);
    Value loss = -log_add(blank, label);
    return ops::where(ops::greater(loss, -kLogOfZero / 2),
                      Value(Tensor(std::numeric_limits<float>::infinity())), loss);
  }
};

}  // namespace

Loss CTC(const LossOptions& options) { return made_loss(CTCLoss{options}); }

Value ctc(const Value& y_true, const Value& y_pred) { return CTC()(y_true, y_pred); }

void add_ctc_loss(std::vector<LossKind>& kinds) { kinds.push_back(loss_kind<CTCLoss>()); }

}  // namespace stoker
