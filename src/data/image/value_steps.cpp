// normalize, rescale, convert, cast and one_hot: values of any shape
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/convert.h"
#include "base/visit_dtype.h"
#include "data/image/step.h"

namespace stoker::image {
namespace {

// Between these, a change of dtype is an affine change of values like any other.
bool is_pixel(DType dtype) { return dtype == DType::uint8 || dtype == DType::float32; }

void check_number(const Step& step, const TensorSpec& in) {
  if (in.dtype == DType::bytes)
    refuse(step, in, "expected numbers: put image::decode_image() before it");
}

class Normalize : public Step {
 public:
  Normalize(const std::vector<double>& mean, const std::vector<double>& deviation) {
    size_t channels = std::max(mean.size(), deviation.size());
    auto fits = [&](size_t size) { return size > 0 && (size == channels || size == 1); };
    if (!fits(mean.size()) || !fits(deviation.size()))
      throw ValueError(
          fmt::format("normalize: {} means and {} deviations; expected as many of each, "
                      "or one",
                      mean.size(), deviation.size()));
    for (size_t channel = 0; channel < channels; ++channel) {
      double m = mean[mean.size() == 1 ? 0 : channel];
      double d = deviation[deviation.size() == 1 ? 0 : channel];
      if (!(d > 0) || !std::isfinite(m) || !std::isfinite(d))
        throw ValueError(
            fmt::format("normalize: mean {}, deviation {} of channel {}; expected finite "
                        "numbers and a deviation above 0",
                        m, d, channel));
      scale_.push_back(1 / d);
      offset_.push_back(-m / d);
    }
  }
  std::string name() const override { return "normalize"; }
  std::string options() const override {
    return fmt::format("scale {}, offset {}", fmt::join(scale_, " "), fmt::join(offset_, " "));
  }
  TensorSpec infer(const TensorSpec& in) const override {
    check_pixel_dtype(*this, in);
    int64_t channels = in.shape.rank() == 0 ? 1 : in.shape[-1];
    if (scale_.size() > 1 && channels >= 0 && channels != int64_t(scale_.size()))
      refuse(*this, in,
             fmt::format("it has means of {} channels: the last dimension has to be that",
                         scale_.size()));
    return {DType::float32, in.shape};
  }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    plan.affine(scale_, offset_, DType::float32);
  }

 private:
  std::vector<double> scale_, offset_;
};

class Rescale : public Step {
 public:
  Rescale(double scale, double offset) : scale_(scale), offset_(offset) {}
  std::string name() const override {
    return offset_ == 0 ? fmt::format("rescale({:g})", scale_)
                        : fmt::format("rescale({:g}, {:g})", scale_, offset_);
  }
  std::string options() const override { return fmt::format("{}, {}", scale_, offset_); }
  TensorSpec infer(const TensorSpec& in) const override {
    check_pixel_dtype(*this, in);
    return {DType::float32, in.shape};
  }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    plan.affine(scale_, offset_, DType::float32);
  }

 private:
  double scale_, offset_;
};

// 1.0 in an image of this type.
template <class T>
constexpr double full() {
  if constexpr (std::is_integral_v<T>) return double(std::numeric_limits<T>::max());
  return 1;
}

// tf.image.convert_image_dtype of one value; to integers it saturates.
template <class To, class From>
To convert_pixel(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (!std::is_integral_v<From> && !std::is_integral_v<To>) {
    return stoker::convert<To>(value);
  } else if constexpr (!std::is_integral_v<To>) {
    return stoker::convert<To>(float(double(value) / full<From>()));
  } else if constexpr (!std::is_integral_v<From>) {
    return stoker::convert<To>(double(float(value)) * (full<To>() + 0.5));
  } else if constexpr (sizeof(From) > sizeof(To) ||
                       (sizeof(From) == sizeof(To) && full<From>() > full<To>())) {
    // Ranges are powers of two: 2^a values become 2^b.
    From step = From((uint64_t(std::numeric_limits<From>::max()) + 1) /
                     (uint64_t(std::numeric_limits<To>::max()) + 1));
    From quotient = From(value / step);
    if (value < 0 && quotient * step != value) --quotient;  // floor, as Python's //
    return To(quotient);
  } else {
    int64_t factor = int64_t((uint64_t(std::numeric_limits<To>::max()) + 1) /
                             (uint64_t(std::numeric_limits<From>::max()) + 1));
    return To(int64_t(value) * factor);
  }
}

class ChangeDType : public Step {
 public:
  ChangeDType(DType to, bool scales) : to_(to), scales_(scales) {
    if (to == DType::bytes || (scales && to == DType::bool_))
      throw ValueError(fmt::format("{}: no image has this type", name()));
  }
  std::string name() const override {
    return fmt::format("{}({})", scales_ ? "convert" : "cast", stoker::name(to_));
  }
  TensorSpec infer(const TensorSpec& in) const override {
    check_number(*this, in);
    if (scales_ && in.dtype == DType::bool_) refuse(*this, in, "use image::cast for truth values");
    return {to_, in.shape};
  }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    DType from = plan.value().dtype;
    if (from == to_) return;
    if (!is_pixel(from) || !is_pixel(to_)) return plan.whole(*this, {to_, plan.value().shape});
    double scale = !scales_ ? 1 : to_ == DType::float32 ? 1.0 / 255 : 255.5;
    plan.affine(scale, 0, to_);
  }
  void run(const ConstTensorView& in, const TensorView& out) const override {
    visit_numeric(in.dtype, [&]<class From>(std::type_identity<From>) {
      visit_numeric(out.dtype, [&]<class To>(std::type_identity<To>) {
        const From* from = static_cast<const From*>(in.data);
        To* to = static_cast<To*>(out.data);
        for (int64_t i = 0; i < in.elements(); ++i) {
          if constexpr (std::is_same_v<To, bool> || std::is_same_v<From, bool>)
            to[i] = stoker::convert<To>(from[i]);
          else
            to[i] = scales_ ? convert_pixel<To>(from[i]) : stoker::convert<To>(from[i]);
        }
      });
    });
  }

 private:
  DType to_;
  bool scales_;
};

class OneHot : public Step {
 public:
  explicit OneHot(int64_t depth) : depth_(depth) {
    if (depth < 1) throw ValueError(fmt::format("one_hot({}): expected at least one class", depth));
  }
  std::string name() const override { return fmt::format("one_hot({})", depth_); }
  TensorSpec infer(const TensorSpec& in) const override {
    if (!is_integer(in.dtype)) refuse(*this, in, "expected integers");
    if (in.shape.rank() == Shape::kMaxRank)
      refuse(*this, in, "it has no room for one dimension more");
    return {DType::float32, appended(in.shape)};
  }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    plan.whole(*this, {DType::float32, appended(plan.value().shape)});
  }
  void run(const ConstTensorView& in, const TensorView& out) const override {
    auto to = out.values<float>();
    std::fill(to.begin(), to.end(), 0.0F);
    visit_numeric(in.dtype, [&]<class T>(std::type_identity<T>) {
      const T* from = static_cast<const T*>(in.data);
      for (int64_t i = 0; i < in.elements(); ++i) to[size_t(i * depth_ + class_of(from[i]))] = 1;
    });
  }

 private:
  template <class T>
  int64_t class_of(T value) const {
    auto label = stoker::convert<int64_t>(value);
    if (label < 0 || label >= depth_)
      throw ValueError(fmt::format("{}: got class {}, expected 0 … {}", name(), label, depth_ - 1));
    return label;
  }
  Shape appended(const Shape& shape) const {
    std::vector<int64_t> dims(shape.begin(), shape.end());
    dims.push_back(depth_);
    return Shape(std::span<const int64_t>(dims));
  }

  int64_t depth_;
};

}  // namespace

Op normalize(std::vector<double> mean, std::vector<double> deviation) {
  return Op(std::make_shared<Normalize>(mean, deviation));
}
Op rescale(double scale, double offset) { return Op(std::make_shared<Rescale>(scale, offset)); }
Op convert(DType dtype) { return Op(std::make_shared<ChangeDType>(dtype, true)); }
Op cast(DType dtype) { return Op(std::make_shared<ChangeDType>(dtype, false)); }
Op one_hot(int64_t depth) { return Op(std::make_shared<OneHot>(depth)); }

}  // namespace stoker::image
