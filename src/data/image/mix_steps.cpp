// mix_up and cut_mix: functions of batches, with the draws and formulas of base/augment_mix.h.
#include <stoker/image_augment.h>

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>

#include "base/augment_mix.h"

namespace stoker::image {
namespace {

// Component 0 is pictures [B, H, W, C], component 1, where there is one, float labels [B, …].
class MixFunction final : public data::ElementFunction {
 public:
  MixFunction(std::string name, const augment::Mix& mix) : name_(std::move(name)), mix_(mix) {}
  std::string name() const override { return name_; }
  bool is_random() const override { return true; }
  std::string identity() const override {
    return fmt::format("{} {} {}", name_, mix_.alpha_low, mix_.alpha_high);
  }

  data::ElementSpec infer(const data::ElementSpec& in) const override {
    if (in.empty() || in[0].shape.rank() != 4 ||
        (in[0].dtype != DType::uint8 && in[0].dtype != DType::float32))
      throw ShapeError(fmt::format(
          "{}: got {}; expected pictures [B, H, W, C], uint8 or float32: put batch before it",
          name_, data::to_string(in)));
    if (in.size() > 1 && (in[1].dtype != DType::float32 || in[1].shape.rank() < 2))
      throw ShapeError(
          fmt::format("{}: got labels {}; expected float32 [B, classes]: image::one_hot makes them "
                      "of class ids",
                      name_, to_string(in[1])));
    data::ElementSpec out = in;
    out[0].dtype = DType::float32;
    return out;
  }

  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out,
             Rng& rng) const override {
    uint64_t key = rng.next64();
    const Shape& pictures = in[0].shape;
    augment::Mix mix = mix_;
    mix.picture = {int32_t(pictures[1]), int32_t(pictures[2])};
    std::vector<augment::Mixed> drawn;
    for (int64_t sample = 0; sample < pictures[0]; ++sample)
      drawn.push_back(augment::draw_mix(mix, {key, 0, uint64_t(sample)}, pictures[0]));
    auto* to = static_cast<float*>(out.put(0, DType::float32, pictures));
    if (in[0].dtype == DType::uint8)
      mixed(mix, drawn, static_cast<const uint8_t*>(in[0].data), pictures, pictures[3], to);
    else
      mixed(mix, drawn, static_cast<const float*>(in[0].data), pictures, pictures[3], to);
    if (in.size() > 1)
      mixed(mix, drawn, static_cast<const float*>(in[1].data), in[1].shape, 0,
            static_cast<float*>(out.put(1, DType::float32, in[1].shape)));
    for (size_t index = 2; index < in.size(); ++index) out.copy(index, in[index]);
  }

 private:
  template <class T>
  static void mixed(const augment::Mix& mix, const std::vector<augment::Mixed>& drawn,
                    const T* from, const Shape& shape, int64_t channels, float* to) {
    int64_t elements = shape[0] == 0 ? 0 : shape.elements() / shape[0];
    for (int64_t sample = 0; sample < shape[0]; ++sample) {
      const augment::Mixed& one = drawn[size_t(sample)];
      const T *own = from + sample * elements, *other = from + one.partner * elements;
      for (int64_t i = 0; i < elements; ++i)
        *to++ = augment::mixed_value(mix, one, float(own[i]), float(other[i]), i, channels);
    }
  }

  std::string name_;
  augment::Mix mix_;
};

}  // namespace

data::FunctionRef mix_up(double alpha) {
  if (!(alpha > 0)) throw ValueError(fmt::format("mix_up: alpha is {}, expected above 0", alpha));
  return std::make_shared<MixFunction>(
      "mix_up", augment::Mix{.alpha_low = float(alpha), .alpha_high = float(alpha)});
}

data::FunctionRef cut_mix(Factor factor) {
  double low = factor.high ? factor.low : 0, high = factor.high.value_or(factor.low);
  if (!(low >= 0 && low <= high && high > 0 && high <= 1))
    throw ValueError(fmt::format("cut_mix: factor is {} … {}, expected 0 … 1, above 0", low, high));
  return std::make_shared<MixFunction>(
      "cut_mix", augment::Mix{.cut = 1, .alpha_low = float(low), .alpha_high = float(high)});
}

}  // namespace stoker::image
