// Calls of a user's loss or metric. Targets meet predictions as Keras 3 aligns them, and what comes
// back must belong to the samples of the batch: a broadcast of one sample's target over the
// predictions of another is an error, never a number.
#pragma once

#include <functional>
#include <string>

#include <stoker/value.h>

namespace stoker {

using OwnFunction = std::function<Value(const Value& y_true, const Value& y_pred)>;

struct AlignedPair {
  Value y_true, y_pred;
};

// Both with one rank where they differ by a last dimension of 1 ([B] and [B, 1], [B, T, 1] and
// [B, T]); predictions as float32, targets of the predictions' shape too. Other targets, such as
// class ids, stay as they are. ShapeError when the batches differ.
AlignedPair aligned(const std::string& who, const Value& y_true, const Value& y_pred);

// float32 [B, ..], or a scalar. ShapeError for any other result, and for one that mixes samples.
Value call_own(const std::string& who, const OwnFunction& function, const Value& y_true,
               const Value& y_pred);

// What call_own gave as float32 [B].
Value own_per_sample(const Value& values, int64_t batch);
// ShapeError for a scalar, which sample weights cannot weigh.
void check_weighable(const std::string& who, const Value& values);

}  // namespace stoker
