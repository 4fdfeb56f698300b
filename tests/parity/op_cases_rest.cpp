// The cases of keras_rest.py.
#include <stoker/bounding_boxes.h>
#include <stoker/custom_gradient.h>

#include "parity/op_cases.h"

namespace stoker::test {

namespace {

namespace boxes = utils::bounding_boxes;
constexpr boxes::ImageSize kSize{.height = 40, .width = 30};

Value columns(const Value& p, int64_t first) { return ops::slice(p, {0, first}, {-1, 4}); }

// Four columns of p as xyxy.
Value corners_of(const Value& p, int64_t first = 0) {
  auto column = [&](int64_t at) { return ops::slice(p, {0, at}, {-1, 1}); };
  Value left = column(first), top = column(first + 1), wide = column(first + 2),
        high = column(first == 0 ? 3 : first);
  return ops::concatenate({left, top, left + wide, top + high}, -1);
}

OpCase converted(const char* source, const char* target) {
  return {"p", [=](const Values& i) -> Values {
            return {boxes::convert_format(columns(i[0], 0), source, target, kSize)};
          }};
}

Value log1pexp(const Value& x) {
  return ops::custom_gradient([](const Value& in) {
    Value e = ops::exp(in);
    return ops::OutputAndGradient{ops::log(1.0 + e), [e](const Value& upstream) -> Value {
                                    return upstream * (1.0 - 1.0 / (1.0 + e)) * 0.5;
                                  }};
  })(x);
}

Values padded(const Value& p, int64_t count) {
  Value labels = ops::slice(p, {0, 4}, {-1, 1});
  return MaxNumBoundingBoxes(count).call_all(
      {ops::expand_dims(columns(p, 0), 0), ops::reshape(labels, {1, -1})});
}

Values sorted_eigenvalues(const Value& a) {
  ops::linalg::Eig made = ops::linalg::eig(a);
  return {made.values.real, ops::abs(made.values.imag)};
}

}  // namespace

OpCases rest_cases() {
  return {
      {"nextafter", STOKER_TWO("x y", nextafter)},
      {"view", STOKER_CASE("whole", {ops::view(ops::cast(i[0], DType::int32), DType::int16)})},
      {"eig", STOKER_CASE("a", sorted_eigenvalues(i[0]))},
      {"custom_gradient", STOKER_CASE("x", {log1pexp(i[0])})},
      {"boxes_yxyx", converted("xywh", "yxyx")},
      {"boxes_xywh", converted("yxyx", "xywh")},
      {"boxes_center_xywh", converted("xyxy", "center_xywh")},
      {"boxes_center_yxhw", converted("center_xywh", "center_yxhw")},
      {"boxes_rel_xyxy", converted("xywh", "rel_xyxy")},
      {"boxes_rel_yxyx", converted("center_yxhw", "rel_yxyx")},
      {"boxes_rel_xywh", converted("rel_center_xywh", "rel_xywh")},
      {"boxes_rel_center_xywh", converted("xyxy", "rel_center_xywh")},
      {"boxes_absolute", converted("rel_xywh", "xyxy")},
      {"boxes_clip",
       STOKER_CASE("p",
                   {boxes::clip_to_image_size({corners_of(i[0])}, boxes::ImageSize{3, 2}).boxes})},
      {"boxes_crop", STOKER_CASE("p", {boxes::crop(corners_of(i[0]), 1, 0.5, 2, 1.5)})},
      {"boxes_pad", STOKER_CASE("p", {boxes::pad(corners_of(i[0]), 3, 2)})},
      {"boxes_affine",
       STOKER_CASE("p", {boxes::affine_transform(ops::expand_dims(corners_of(i[0]), 0),
                                                 {.angle = 20,
                                                  .translate_x = 0.1,
                                                  .translate_y = -0.2,
                                                  .scale = 1.25,
                                                  .shear_x = 5,
                                                  .shear_y = -3},
                                                 kSize)})},
      {"boxes_iou",
       STOKER_CASE("p", {boxes::compute_iou(corners_of(i[0]),
                                            ops::expand_dims(corners_of(i[0], 2), 0), "xyxy")})},
      {"boxes_ciou",
       STOKER_CASE("p", {boxes::compute_ciou(corners_of(i[0]), corners_of(i[0], 2), "xyxy")})},
      {"boxes_encode", STOKER_CASE("p", {boxes::encode_box_to_deltas(
                                            corners_of(i[0]), columns(i[0], 2), "xyxy",
                                            "center_xywh", {.variance = {0.1, 0.1, 0.2, 0.2}})})},
      {"boxes_decode",
       STOKER_CASE("p x", {boxes::decode_deltas_to_boxes(corners_of(i[0]), columns(i[1], 0), "xyxy",
                                                         "xywh")})},
      {"max_num_bounding_boxes", STOKER_CASE("p", padded(i[0], 3))},
      {"max_num_bounding_boxes_more", STOKER_CASE("p", padded(i[0], 6))},
  };
}

}  // namespace stoker::test
