// Elastic transform of one picture: what the layer does with ops, with draws of its own.
#include <algorithm>

#include "data/image/float_step.h"

namespace stoker::image {
namespace {

class ElasticStep : public FloatStep {
 public:
  explicit ElasticStep(const RandomElasticTransform& options)
      : options_(options),
        often_(augment::share_range(kName, "factor", options.factor)),
        scale_(augment::share_range(kName, "scale", options.scale)),
        // Any kind that samples: its fill mode and interpolation are what counts.
        how_(augment::rotation_stage(
            kName, 0.0, {options.fill_mode, options.interpolation, options.fill_value})) {
    check_range(kName, options.range);
  }
  std::string name() const override { return kName; }
  std::string options() const override {
    std::string text = fmt::format("{} {} {} {} {} {}", often_.low, often_.high, scale_.low,
                                   scale_.high, options_.range.low, options_.range.high);
    for (double number : augment::numbers_of({&how_, 1})) text += fmt::format(" {}", number);
    return text;
  }
  bool is_random() const override { return true; }

 protected:
  void change(const augment::Picture<float>& from, float* to, uint64_t key) const override {
    Rng rng(key);
    float chance = rng.uniform(float(often_.low), float(often_.high));
    bool happens = rng.uniform() < chance;
    double scale = rng.uniform(float(scale_.low), float(scale_.high));
    if (!happens || scale == 0)
      std::copy(from.data, from.data + elements(from), to);
    else
      bend(from, scale, rng, to);
    for (size_t i = 0; i < elements(from); ++i)
      to[i] = augment::clipped(to[i], float(options_.range.low), float(options_.range.high));
  }

 private:
  static constexpr const char* kName = "random_elastic_transform";

  // Keras's numbers: a field of deviation sigma, blurred by sigma, times alpha.
  void bend(const augment::Picture<float>& from, double scale, Rng& rng, float* to) const {
    double alpha = scale * 0.1 * std::max(from.height, from.width);
    double sigma = scale * 0.05 * std::min(from.height, from.width);
    std::vector<float> field(size_t(from.height) * size_t(from.width));
    for (float& value : field) value = rng.normal() * float(sigma);
    blur(field, from, sigma);
    augment::Drawn drawn = {.kind = augment::Kind::warp,
                            .fill = how_.fill,
                            .bilinear = how_.bilinear,
                            .fill_value = how_.fill_value,
                            .m = {1, 0, 0, 0, 1, 0, 0, 0}};
    for (int32_t y = 0; y < from.height; ++y)
      for (int32_t x = 0; x < from.width; ++x, to += from.channels) {
        float by = field[size_t(y) * size_t(from.width) + size_t(x)] * float(alpha);
        drawn.m[2] = drawn.m[5] = by;
        augment::warped(drawn, from, y, x, to);
      }
  }

  static void blur(std::vector<float>& field, const augment::Picture<float>& like, double sigma) {
    auto reach = int32_t(3 * std::floor(sigma));
    std::vector<float> bell;
    float sum = 0;
    for (int32_t at = -reach; at <= reach; ++at)
      bell.push_back(float(std::exp(-0.5 * (at / sigma) * (at / sigma))));
    for (float value : bell) sum += value;
    for (float& value : bell) value /= sum;
    std::vector<float> half(field.size());
    along(field, half, {like.height, like.width}, {like.width, 1}, bell);
    along(half, field, {like.width, like.height}, {1, like.width}, bell);
  }

  struct Axes {
    int32_t along, across;  // extents, or the steps from one number to the next
  };
  // Each number with its neighbours on one axis, weighted; what is outside counts as 0.
  static void along(const std::vector<float>& from, std::vector<float>& to, Axes extents,
                    Axes steps, const std::vector<float>& bell) {
    auto reach = int32_t(bell.size() / 2);
    for (int32_t line = 0; line < extents.across; ++line)
      for (int32_t at = 0; at < extents.along; ++at) {
        auto place = [&](int32_t by) {
          return size_t(line) * size_t(steps.across) + size_t(at + by) * size_t(steps.along);
        };
        int32_t first = std::max(-reach, -at), last = std::min(reach, extents.along - 1 - at);
        float sum = 0;
        for (int32_t by = first; by <= last; ++by)
          sum += bell[size_t(by + reach)] * from[place(by)];
        to[place(0)] = sum;
      }
  }

  RandomElasticTransform options_;
  augment::Range often_, scale_;
  augment::Stage how_;
};

}  // namespace

Op random_elastic_transform(const RandomElasticTransform& options) {
  return Op(std::make_shared<ElasticStep>(options));
}

}  // namespace stoker::image
