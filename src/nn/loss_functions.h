// The losses as formulas, float32 and not averaged: crossentropies over classes one value per class
// id ([B, ..]), the others one per predicted value ([B, .., C]). `y_true` may have any numeric
// dtype and the shapes that targets.h allows.
#pragma once

#include <stoker/losses.h>

namespace stoker {

Value sparse_categorical_loss(const Value& y_true, const Value& y_pred, bool from_logits);
Value categorical_loss(const Value& y_true, const Value& y_pred,
                       const CrossentropyOptions& options);
Value binary_loss(const Value& y_true, const Value& y_pred, const CrossentropyOptions& options);
Value squared_loss(const Value& y_true, const Value& y_pred);
Value absolute_loss(const Value& y_true, const Value& y_pred);
Value huber_loss(const Value& y_true, const Value& y_pred, double delta);

}  // namespace stoker
