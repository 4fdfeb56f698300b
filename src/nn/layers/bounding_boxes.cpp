// MaxNumBoundingBoxes, and boxes under an affine map.
#include <stoker/bounding_boxes.h>

#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_math.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"

namespace stoker {

namespace utils::bounding_boxes {

namespace {

// Where a corner goes: (a0 · x + a1 · y + a2, b0 · x + b1 · y + b2).
struct Corner {
  double a0, a1, a2, b0, b1, b2;
};

// Keras's, from Torchvision's inverse matrix.
Corner corner_map(const Affine& affine, const ImageSize& image) {
  constexpr double kDegree = std::numbers::pi / 180;
  double rot = -affine.angle * kDegree, sx = -affine.shear_x * kDegree,
         sy = -affine.shear_y * kDegree;
  double cx = affine.center_x * (image.width - 1), cy = affine.center_y * (image.height - 1);
  double tx = cx - affine.translate_x * (image.width - 1),
         ty = cy - affine.translate_y * (image.height - 1);
  double a = std::cos(rot - sy) / std::cos(sy), b = a * std::tan(sx) + std::sin(rot);
  double c = -std::sin(rot - sy) / std::cos(sy), d = std::cos(rot) - c * std::tan(sx);
  Corner to{.a0 = d * affine.scale,
            .a1 = -b * affine.scale,
            .a2 = 0,
            .b0 = -c * affine.scale,
            .b1 = a * affine.scale,
            .b2 = 0};
  to.a2 = cx - to.a0 * tx - to.a1 * ty;
  to.b2 = cy - to.b0 * tx - to.b1 * ty;
  return to;
}

}  // namespace

Value affine_transform(const Value& boxes, const Affine& affine, const ImageSize& image) {
  Corner to = corner_map(affine, image);
  Values p = ops::split(convert_format(boxes, "xyxy", "xyxy"), 4, -1);
  Values xs, ys;
  for (size_t corner = 0; corner < 4; ++corner) {
    const Value &x = p[corner == 1 || corner == 2 ? 2 : 0], &y = p[corner >= 2 ? 3 : 1];
    xs.push_back(to.a0 * x + to.a1 * y + to.a2);
    ys.push_back(to.b0 * x + to.b1 * y + to.b2);
  }
  Value all_x = ops::concatenate(xs, -1), all_y = ops::concatenate(ys, -1);
  auto least = [](const Value& v) { return ops::min(v, {.axes = {-1}, .keepdims = true}); };
  auto most = [](const Value& v) { return ops::max(v, {.axes = {-1}, .keepdims = true}); };
  return ops::concatenate({least(all_x), least(all_y), most(all_x), most(all_y)}, -1);
}

}  // namespace utils::bounding_boxes

namespace {

struct MaxNumBoundingBoxesConfig : MaxNumBoundingBoxesOptions {
  int64_t max_number = 0;
  static constexpr const char* kKind = "MaxNumBoundingBoxes";
  static Fields<MaxNumBoundingBoxesConfig> fields() {
    using C = MaxNumBoundingBoxesConfig;
    return {{"max_number", &C::max_number, {.check = at_least(1), .required = true}},
            {"fill_value", &C::fill_value}};
  }
};

class BoxesLayer : public LayerBase {
 protected:
  template <class Options>
  explicit BoxesLayer(const Options& options) {
    LayerBase::set_name(options.name);
  }
};

class MaxNumBoundingBoxesLayer : public Configured<BoxesLayer, MaxNumBoundingBoxesConfig> {
 public:
  using Configured::Configured;

  Values call(const Values& inputs, CallContext&) override {
    if (inputs.size() != 2 || inputs[0].shape().rank() != 3 || inputs[1].shape().rank() != 2 ||
        inputs[0].shape()[2] != 4 || inputs[0].shape()[1] != inputs[1].shape()[1])
      fail_input(
          fmt::format("expected boxes [B, N, 4] and labels [B, N], as in "
                      "MaxNumBoundingBoxes({}).call_all({{boxes, "
                      "labels}}), got {}",
                      options().max_number, shapes_of(inputs)));
    return {even(inputs[0]), even(inputs[1])};
  }

 private:
  static std::string shapes_of(const Values& inputs) {
    std::string text;
    for (const Value& input : inputs)
      text += (text.empty() ? "" : " and ") + to_string(input.shape());
    return text;
  }

  Value even(const Value& x) const {
    const Shape& shape = x.shape();
    int64_t kept = std::min(shape[1], options().max_number), added = options().max_number - kept;
    Ints begin(size_t(shape.rank()), 0), size(shape.begin(), shape.end());
    size[1] = kept;
    Value cut = kept == shape[1] ? x : ops::slice(x, begin, size);
    if (added == 0) return cut;
    Ints after = begin;
    after[1] = added;
    return ops::pad(cut, begin, after, double(options().fill_value));
  }
};

}  // namespace

MaxNumBoundingBoxes::MaxNumBoundingBoxes(int64_t max_number,
                                         const MaxNumBoundingBoxesOptions& options)
    : Layer(configured<MaxNumBoundingBoxesLayer>({options, max_number})) {}

void add_bounding_box_layers(LayerKinds& kinds) { add_layer<MaxNumBoundingBoxesLayer>(kinds); }

}  // namespace stoker
