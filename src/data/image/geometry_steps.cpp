// resize, crops and flips
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/image/option_fields.h"
#include "data/image/step.h"

namespace stoker::image {
namespace {

// Pixel positions are 32-bit inside.
constexpr int64_t kMostExtent = 1 << 24;

}  // namespace

template <>
const Fields<Resize>& image_fields() {
  static const Fields<Resize> table = {{"method", &Resize::method},
                                       {"antialias", &Resize::antialias}};
  return table;
}

template <>
const Fields<RandomCrop>& image_fields() {
  static const Fields<RandomCrop> table = {
      {"padding", &RandomCrop::padding, between(0, double(kMostExtent))}};
  return table;
}

template <>
const Fields<RandomResizedCrop>& image_fields() {
  using C = RandomResizedCrop;
  static const Fields<C> table = {{"scale", &C::scale},
                                  {"ratio", &C::ratio},
                                  {"method", &C::method},
                                  {"antialias", &C::antialias}};
  return table;
}

namespace {

void check_size(std::string_view name, int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kMostExtent || width > kMostExtent)
    throw ValueError(fmt::format("{}: size {}×{}; expected height and width of 1 … {}", name,
                                 height, width, kMostExtent));
}

void check_probability(std::string_view name, double probability) {
  if (!(probability >= 0 && probability <= 1))
    throw ValueError(fmt::format("{}: probability {}; expected 0 … 1", name, probability));
}

int64_t height_of(const Plan& plan) { return plan.value().shape[0]; }
int64_t width_of(const Plan& plan) { return plan.value().shape[1]; }

std::string sized(std::string_view name, int64_t height, int64_t width) {
  return height == width ? fmt::format("{}({})", name, height)
                         : fmt::format("{}({}, {})", name, height, width);
}

std::string resize_options(ResizeMethod method, bool antialias) {
  return FieldType<ResizeMethod>::text(method) + (antialias ? ", antialias" : "");
}

class ResizeStep : public Step {
 public:
  ResizeStep(int64_t height, int64_t width, const Resize& how)
      : height_(height), width_(width), how_(how) {
    check_size("resize", height, width);
  }
  std::string name() const override { return sized("resize", height_, width_); }
  std::string options() const override { return resize_options(how_.method, how_.antialias); }
  TensorSpec infer(const TensorSpec& in) const override {
    check_picture(*this, in);
    if (in.shape[0] == 0 || in.shape[1] == 0) refuse(*this, in, "an empty picture has no size");
    return {in.dtype, in.shape.with(0, height_).with(1, width_)};
  }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    plan.resize(height_, width_, how_);
  }

 private:
  int64_t height_, width_;
  Resize how_;
};

// Crops to a size that is given; where, the derived class says.
class CropStep : public Step {
 public:
  TensorSpec infer(const TensorSpec& in) const override {
    check_picture(*this, in);
    if ((in.shape[0] >= 0 && in.shape[0] < needed_height_) ||
        (in.shape[1] >= 0 && in.shape[1] < needed_width_))
      refuse(*this, in,
             fmt::format("it needs a picture of at least {}×{}: put image::resize before it",
                         needed_height_, needed_width_));
    return {in.dtype, in.shape.with(0, height_).with(1, width_)};
  }

 protected:
  CropStep(std::string_view name, int64_t height, int64_t width, int64_t needed_height,
           int64_t needed_width)
      : height_(height), width_(width), needed_height_(needed_height), needed_width_(needed_width) {
    check_size(name, height, width);
  }
  int64_t height_, width_, needed_height_, needed_width_;
};

class FixedCrop : public CropStep {
 public:
  FixedCrop(int64_t y, int64_t x, int64_t height, int64_t width)
      : CropStep("crop", height, width, y + height, x + width), y_(y), x_(x) {
    if (y < 0 || x < 0 || y > kMostExtent || x > kMostExtent)
      throw ValueError(
          fmt::format("crop: corner y = {}, x = {}; expected 0 … {}", y, x, kMostExtent));
  }
  std::string name() const override {
    return fmt::format("crop({}, {}, {}, {})", y_, x_, height_, width_);
  }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    plan.crop({y_, x_, height_, width_});
  }

 private:
  int64_t y_, x_;
};

class CenterCrop : public CropStep {
 public:
  CenterCrop(int64_t height, int64_t width)
      : CropStep("center_crop", height, width, height, width) {}
  std::string name() const override { return sized("center_crop", height_, width_); }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    plan.crop({(height_of(plan) - height_) / 2, (width_of(plan) - width_) / 2, height_, width_});
  }
};

class RandomCropStep : public CropStep {
 public:
  RandomCropStep(int64_t height, int64_t width, const RandomCrop& options)
      : CropStep("random_crop", height, width, height - 2 * options.padding,
                 width - 2 * options.padding),
        padding_(options.padding) {
    image_fields<RandomCrop>().check("random_crop", options);
  }
  std::string name() const override { return sized("random_crop", height_, width_); }
  std::string options() const override { return fmt::format("padding {}", padding_); }
  bool is_random() const override { return true; }
  void plan(const ConstTensorView&, Plan& plan, Rng* rng) const override {
    int64_t y = rng->integer(0, height_of(plan) + 2 * padding_ - height_ + 1) - padding_;
    int64_t x = rng->integer(0, width_of(plan) + 2 * padding_ - width_ + 1) - padding_;
    bool inside =
        y >= 0 && x >= 0 && y + height_ <= height_of(plan) && x + width_ <= width_of(plan);
    if (inside)
      plan.crop({y, x, height_, width_});
    else
      plan.crop_padded({y, x, height_, width_});
  }

 private:
  int64_t padding_;
};

class RandomResizedCropStep : public Step {
 public:
  RandomResizedCropStep(int64_t height, int64_t width, const RandomResizedCrop& options)
      : height_(height), width_(width), options_(options) {
    check_size("random_resized_crop", height, width);
    check_range("scale", options.scale, 1);
    check_range("ratio", options.ratio, 1e6);
  }
  std::string name() const override { return sized("random_resized_crop", height_, width_); }
  std::string options() const override {
    return fmt::format("scale {} {}, ratio {} {}, {}", options_.scale.low, options_.scale.high,
                       options_.ratio.low, options_.ratio.high,
                       resize_options(options_.method, options_.antialias));
  }
  bool is_random() const override { return true; }
  TensorSpec infer(const TensorSpec& in) const override {
    check_picture(*this, in);
    if (in.shape[0] == 0 || in.shape[1] == 0) refuse(*this, in, "an empty picture has no crops");
    return {in.dtype, in.shape.with(0, height_).with(1, width_)};
  }
  void plan(const ConstTensorView&, Plan& plan, Rng* rng) const override {
    plan.crop(choose(height_of(plan), width_of(plan), *rng));
    plan.resize(height_, width_, {.method = options_.method, .antialias = options_.antialias});
  }

 private:
  static void check_range(const char* what, const Range& range, double most) {
    if (!(range.low > 0 && range.low <= range.high && range.high <= most))
      throw ValueError(
          fmt::format("random_resized_crop: {} = {{{}, {}}}; expected 0 < low ≤ high ≤ {}", what,
                      range.low, range.high, most));
  }

  // As torchvision: ten tries for an area and a ratio that fit, else the largest central crop whose
  // ratio is allowed.
  Box choose(int64_t height, int64_t width, Rng& rng) const {
    const double low = std::log(options_.ratio.low), high = std::log(options_.ratio.high);
    for (int attempt = 0; attempt < 10; ++attempt) {
      double share =
          options_.scale.low + (options_.scale.high - options_.scale.low) * rng.uniform();
      double area = double(height) * double(width) * share;
      double ratio = std::exp(low + (high - low) * rng.uniform());
      int64_t w = std::lrint(std::sqrt(area * ratio)), h = std::lrint(std::sqrt(area / ratio));
      if (w < 1 || h < 1 || w > width || h > height) continue;
      int64_t y = rng.integer(0, height - h + 1), x = rng.integer(0, width - w + 1);
      return {y, x, h, w};
    }
    return central(height, width);
  }

  Box central(int64_t height, int64_t width) const {
    int64_t w = width, h = height;
    double ratio = double(width) / double(height);
    if (ratio < options_.ratio.low) h = std::lrint(double(w) / options_.ratio.low);
    if (ratio > options_.ratio.high) w = std::lrint(double(h) * options_.ratio.high);
    h = std::clamp<int64_t>(h, 1, height);
    w = std::clamp<int64_t>(w, 1, width);
    return {(height - h) / 2, (width - w) / 2, h, w};
  }

  int64_t height_, width_;
  RandomResizedCrop options_;
};

enum class Mirror { left_right, up_down };

class Flip : public Step {
 public:
  Flip(Mirror axis, double probability, bool random)
      : axis_(axis), probability_(probability), random_(random) {
    check_probability(name(), probability);
  }
  std::string name() const override {
    std::string name = random_ ? "random_flip" : "flip";
    name += axis_ == Mirror::left_right ? "_left_right" : "_up_down";
    return random_ && probability_ != 0.5 ? fmt::format("{}({})", name, probability_) : name;
  }
  bool is_random() const override { return random_; }
  TensorSpec infer(const TensorSpec& in) const override {
    check_picture(*this, in);
    return in;
  }
  void plan(const ConstTensorView&, Plan& plan, Rng* rng) const override {
    if (random_ && !(rng->uniform() < probability_)) return;
    if (axis_ == Mirror::left_right)
      plan.flip_left_right();
    else
      plan.flip_up_down();
  }

 private:
  Mirror axis_;
  double probability_;
  bool random_;
};

}  // namespace

Op resize(int64_t height, int64_t width, const Resize& options) {
  return Op(std::make_shared<ResizeStep>(height, width, options));
}
Op crop(int64_t y, int64_t x, int64_t height, int64_t width) {
  return Op(std::make_shared<FixedCrop>(y, x, height, width));
}
Op center_crop(int64_t height, int64_t width) {
  return Op(std::make_shared<CenterCrop>(height, width));
}
Op random_crop(int64_t height, int64_t width, const RandomCrop& options) {
  return Op(std::make_shared<RandomCropStep>(height, width, options));
}
Op random_resized_crop(int64_t size, const RandomResizedCrop& options) {
  return random_resized_crop(size, size, options);
}
Op random_resized_crop(int64_t height, int64_t width, const RandomResizedCrop& options) {
  return Op(std::make_shared<RandomResizedCropStep>(height, width, options));
}
Op flip_left_right() { return Op(std::make_shared<Flip>(Mirror::left_right, 1, false)); }
Op flip_up_down() { return Op(std::make_shared<Flip>(Mirror::up_down, 1, false)); }
Op random_flip_left_right(double probability) {
  return Op(std::make_shared<Flip>(Mirror::left_right, probability, true));
}
Op random_flip_up_down(double probability) {
  return Op(std::make_shared<Flip>(Mirror::up_down, probability, true));
}

}  // namespace stoker::image
