// Bounding boxes: their formats, how much they overlap, and as targets of a detector. Functions of ops
// with gradients, by the names and defaults of keras.utils.bounding_boxes; a layer that pads them.
//
//   using namespace utils::bounding_boxes;
//   Value corners = convert_format(boxes, "center_xywh", "xyxy");
//   Value overlap = compute_iou(corners, anchors, "xyxy");  // [B, N, M]
//
// Boxes are [.., 4]. Formats: xyxy (left, top, right, bottom), yxyx, xywh (left, top, width, height),
// center_xywh, center_yxhw, and relative to the picture's size, from 0 to 1: rel_xyxy, rel_yxyx, rel_xywh,
// rel_center_xywh. A wrong one is a ValueError that lists them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/layer.h>
#include <stoker/value.h>

namespace stoker {

namespace utils::bounding_boxes {

// Of the picture, in pixels; relative formats need it.
struct ImageSize {
  double height = 0, width = 0;
};

Value convert_format(const Value& boxes, const std::string& source, const std::string& target,
                     const std::optional<ImageSize>& image = {});

struct Boxes {
  Value boxes;        // [.., N, 4]
  Value labels = {};  // [.., N]; undefined: none
};
// Boxes inside the picture, of the formats xyxy and rel_xyxy; a label becomes -1 where nothing of its
// box is left.
Boxes clip_to_image_size(const Boxes& boxes, const std::optional<ImageSize>& image,
                         const std::string& bounding_box_format = "xyxy");

struct IouOptions {
  bool use_masking = false;  // boxes with four values below 0 are padding: mask_val
  double mask_val = -1;
  std::optional<ImageSize> image = {};
};
// Intersection over union of every box of one with every box of the other: [N, 4], [M, 4] → [N, M], with a
// batch in one or both [B, N, M].
Value compute_iou(const Value& boxes1, const Value& boxes2, const std::string& bounding_box_format,
                  const IouOptions& options = {});
// Complete IoU of boxes in pairs, [.., 4] → [..]: the overlap less the distance of the centres and the
// difference of the aspect ratios. Not of relative formats.
Value compute_ciou(const Value& boxes1, const Value& boxes2,
                   const std::string& bounding_box_format);

struct DeltaOptions {
  std::string encoding_format = "center_yxhw";  // or center_xywh
  std::vector<double> variance = {};            // four factors; none: 1
  std::optional<ImageSize> image = {};
};
// Boxes [.., N, 4] as offsets and logarithms of ratios to anchors [N, 4], and back.
Value encode_box_to_deltas(const Value& anchors, const Value& boxes,
                           const std::string& anchor_format, const std::string& box_format,
                           const DeltaOptions& options = {});
Value decode_deltas_to_boxes(const Value& anchors, const Value& deltas,
                             const std::string& anchor_format, const std::string& box_format,
                             const DeltaOptions& options = {});

// Of the format xyxy: as a part of the picture that begins at (left, top) shows them; moved as a border
// of that size moves them.
Value crop(const Value& boxes, double top, double left, double height, double width);
Value pad(const Value& boxes, double top, double left);

struct Affine {
  double angle = 0;                         // degrees
  double translate_x = 0, translate_y = 0;  // shares of the picture's size
  double scale = 1;
  double shear_x = 0, shear_y = 0;        // degrees
  double center_x = 0.5, center_y = 0.5;  // of the rotation, shares of the picture's size
};
// The boxes [.., 4] (xyxy) around the transformed corners, as ops::affine_transform moves the picture.
Value affine_transform(const Value& boxes, const Affine& affine, const ImageSize& image);

}  // namespace utils::bounding_boxes

struct MaxNumBoundingBoxesOptions {
  int64_t fill_value = -1;
  std::string name = "";
  std::string dtype = "";
};
// Boxes [B, N, 4] and labels [B, N] → [B, max_number, 4] and [B, max_number]: cut, or filled up.
//   Values even = MaxNumBoundingBoxes(10).call_all({boxes, labels});
class MaxNumBoundingBoxes : public Layer {
 public:
  explicit MaxNumBoundingBoxes(int64_t max_number, const MaxNumBoundingBoxesOptions& options = {});
};

}  // namespace stoker
