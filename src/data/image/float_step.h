// A step that changes a picture in floats, whatever its dtype is: uint8 is rounded and kept within
// 0 … 255.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <stoker/image_augment.h>

#include "base/augment_stages.h"
#include "base/convert.h"
#include "data/image/step.h"

namespace stoker::image {

inline void check_range(const std::string& name, const ValueRange& range) {
  if (!(range.low < range.high))
    throw ValueError(
        fmt::format("{}: the range of values is {} to {}, expected a lower number first", name,
                    range.low, range.high));
}

class FloatStep : public Step {
 public:
  TensorSpec infer(const TensorSpec& in) const override {
    check_picture(*this, in);
    if (in.shape[0] == 0 || in.shape[1] == 0) refuse(*this, in, "an empty picture has no pixels");
    return in;
  }
  void plan(const ConstTensorView&, Plan& plan, Rng* rng) const override {
    plan.whole(*this, plan.value(), rng == nullptr ? 0 : rng->next64());
  }
  void run_keyed(const ConstTensorView& in, const TensorView& out, uint64_t key) const override {
    std::vector<float> from, to;
    augment::Picture<float> picture = {.height = int32_t(in.shape[0]),
                                       .width = int32_t(in.shape[1]),
                                       .channels = int32_t(in.shape[2])};
    if (in.dtype == DType::float32) {
      picture.data = static_cast<const float*>(in.data);
      return change(picture, static_cast<float*>(out.data), key);
    }
    auto elements = size_t(in.shape.elements());
    const auto* bytes = static_cast<const uint8_t*>(in.data);
    from.assign(bytes, bytes + elements);
    to.resize(elements);
    picture.data = from.data();
    change(picture, to.data(), key);
    auto* result = static_cast<uint8_t*>(out.data);
    for (size_t i = 0; i < elements; ++i)
      result[i] = stoker::convert<uint8_t>(std::nearbyint(to[i]));
  }

 protected:
  virtual void change(const augment::Picture<float>& from, float* to, uint64_t key) const = 0;
  static size_t elements(const augment::Picture<float>& picture) {
    return size_t(picture.height) * size_t(picture.width) * size_t(picture.channels);
  }
};

}  // namespace stoker::image
