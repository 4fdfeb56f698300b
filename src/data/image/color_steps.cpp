// brightness, contrast and saturation, fixed and random, as tf.image defines them: uint8 is taken
// as 0 … 1, changed, and brought back by · 255.5, cut at both ends and towards zero.
#include <fmt/format.h>

#include "data/image/step.h"

namespace stoker::image {
namespace {

constexpr double kFull = 255.5;

enum class Change { brightness, contrast, saturation };

const char* change_name(Change change) {
  switch (change) {
    case Change::brightness:
      return "brightness";
    case Change::contrast:
      return "contrast";
    case Change::saturation:
      break;
  }
  return "saturation";
}

class ColorStep : public Step {
 public:
  // One amount, or one drawn from [low, high).
  ColorStep(Change change, double low, double high, bool random)
      : change_(change), low_(low), high_(high), random_(random) {
    bool factor = change != Change::brightness;
    if (!(low <= high) || (factor && low < 0) || (random && low == high))
      throw ValueError(fmt::format("{}: expected {} and an upper bound above the lower", name(),
                                   factor ? "a factor of at least 0" : "a number"));
  }
  std::string name() const override {
    const char* change = change_name(change_);
    if (!random_) return fmt::format("{}({:g})", change, low_);
    if (change_ == Change::brightness) return fmt::format("random_{}({:g})", change, high_);
    return fmt::format("random_{}({:g}, {:g})", change, low_, high_);
  }
  std::string options() const override { return fmt::format("{}, {}", low_, high_); }
  bool is_random() const override { return random_; }
  TensorSpec infer(const TensorSpec& in) const override {
    check_pixel_dtype(*this, in);
    if (change_ == Change::contrast) check_picture(*this, in);
    bool rgb = in.shape.rank() > 0 && (in.shape[-1] == 3 || in.shape[-1] == -1);
    if (change_ == Change::saturation && !rgb)
      refuse(*this, in, "expected three channels (RGB) in the last dimension");
    return in;
  }
  void plan(const ConstTensorView&, Plan& plan, Rng* rng) const override {
    double amount = random_ ? low_ + (high_ - low_) * rng->uniform() : low_;
    DType dtype = plan.value().dtype;
    bool bytes = dtype == DType::uint8;
    if (change_ == Change::contrast) return plan.contrast(amount);
    if (change_ == Change::brightness)
      return plan.affine(bytes ? kFull / 255 : 1, bytes ? amount * kFull : amount, dtype);
    plan.saturation(amount);
    if (bytes) plan.affine(kFull / 255, 0, dtype);
  }

 private:
  Change change_;
  double low_, high_;
  bool random_;
};

Op fixed(Change change, double amount) {
  return Op(std::make_shared<ColorStep>(change, amount, amount, false));
}
Op random(Change change, double low, double high) {
  return Op(std::make_shared<ColorStep>(change, low, high, true));
}

}  // namespace

Op brightness(double delta) { return fixed(Change::brightness, delta); }
Op contrast(double factor) { return fixed(Change::contrast, factor); }
Op saturation(double factor) { return fixed(Change::saturation, factor); }
Op random_brightness(double max_delta) { return random(Change::brightness, -max_delta, max_delta); }
Op random_contrast(double lower, double upper) { return random(Change::contrast, lower, upper); }
Op random_saturation(double lower, double upper) {
  return random(Change::saturation, lower, upper);
}

}  // namespace stoker::image
