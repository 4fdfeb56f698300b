// Boxes of objects in pictures: how much they overlap, and which of many detections to keep. A box is
// two opposite corners, [y1, x1, y2, x2] as in TensorFlow or [x1, y1, x2, y2] as in PyTorch, in pixels or
// in shares of the picture; y1 <= y2 and x1 <= x2.
#pragma once

#include <cstdint>
#include <optional>

#include <stoker/value.h>

namespace stoker::ops::boxes {

Value area(const Value& boxes);  // [.., 4] → [..]
// Intersection over union of every box of a with every box of b: [.., N, 4], [.., M, 4] → [.., N, M].
// 0 where both are empty.
Value iou(const Value& a, const Value& b);

struct NonMaxSuppression {
  int64_t max_output_size = 100;
  double iou_threshold = 0.5;  // a box that overlaps a better one by more is left out
  std::optional<double> score_threshold = {};  // boxes need a score above it; unset: any
};
struct Kept {
  Value indices;  // [.., max_output_size] int32: the best first; -1 behind the last
  Value count;    // [..] int32: how many there are
};
// Keeps the best box, leaves out those that overlap it, and so on: as tf.image.non_max_suppression and
// torchvision.ops.nms, with a result of fixed size. boxes: [.., N, 4], scores: [.., N]; of equal scores
// the first counts, NaN never. No gradient. Inside Layer::call, function() and compute().
Kept non_max_suppression(const Value& boxes, const Value& scores,
                         const NonMaxSuppression& options = {});

}  // namespace stoker::ops::boxes
