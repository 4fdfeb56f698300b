// The augmentations of base/augment.h as steps.
#include <stoker/image_augment.h>

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/augment_stages.h"
#include "base/convert.h"
#include "data/image/step.h"

namespace stoker::image {
namespace {

using augment::Kind;
using augment::Stage;

std::string numbers_text(std::span<const Stage> stages) {
  std::string text;
  for (double number : augment::numbers_of(stages))
    text += fmt::format("{}{}", text.empty() ? "" : " ", number);
  return text;
}

// One of the stages per picture.
class AugmentStep : public Step {
 public:
  AugmentStep(std::string name, std::vector<Stage> stages)
      : name_(std::move(name)), stages_(std::move(stages)) {}
  std::string name() const override { return name_; }
  std::string options() const override { return numbers_text(stages_); }
  bool is_random() const override { return true; }

  TensorSpec infer(const TensorSpec& in) const override {
    check_picture(*this, in);
    if (in.shape[0] == 0 || in.shape[1] == 0) refuse(*this, in, "an empty picture has no pixels");
    for (const Stage& stage : stages_)
      if (augment::needs_colours(stage.kind) && in.shape[2] >= 0 && in.shape[2] != 3)
        refuse(*this, in, "it needs three channels, RGB");
    return in;
  }

  void plan(const ConstTensorView&, Plan& plan, Rng* rng) const override {
    plan.whole(*this, plan.value(), rng->next64());
  }

  void run_keyed(const ConstTensorView& in, const TensorView& out, uint64_t key) const override {
    augment::Extent size = {int32_t(in.shape[0]), int32_t(in.shape[1])};
    auto channels = int32_t(in.shape[2]);
    std::vector<float> scratch(size_t(augment::kMostBins) * size_t(channels)), from, to;
    auto run = [&](const float* x, float* y) {
      augment::run_sample<float>(stages_, {.seed = key}, {x, size.height, size.width, channels},
                                 size, y, scratch.data());
    };
    if (in.dtype == DType::float32)
      return run(static_cast<const float*>(in.data), static_cast<float*>(out.data));
    auto elements = size_t(in.shape.elements());
    const auto* bytes = static_cast<const uint8_t*>(in.data);
    from.assign(bytes, bytes + elements);
    to.resize(elements);
    run(from.data(), to.data());
    auto* result = static_cast<uint8_t*>(out.data);
    for (size_t i = 0; i < elements; ++i)
      result[i] = stoker::convert<uint8_t>(std::nearbyint(to[i]));
  }

 private:
  std::string name_;
  std::vector<Stage> stages_;
};

Op made(const std::string& name, std::vector<Stage> stages) {
  return Op(std::make_shared<AugmentStep>(name, std::move(stages)));
}

augment::Sampling sampling(const Warp& options) {
  return {options.fill_mode, options.interpolation, options.fill_value};
}

Factor values(const ValueRange& range) { return {range.low, range.high}; }

Op ranged(const std::string& name, Kind kind, const Factor& factor, const ValueRange& range) {
  return made(name, {augment::range_stage(name, kind, factor, values(range))});
}

}  // namespace

Op random_flip(const std::string& mode) {
  return made("random_flip", {augment::flip_stage("random_flip", mode)});
}
Op random_rotation(Factor factor, const Warp& options) {
  return made("random_rotation",
              {augment::rotation_stage("random_rotation", factor, sampling(options))});
}
Op random_translation(Factor height_factor, Factor width_factor, const Warp& options) {
  return made("random_translation", {augment::translation_stage("random_translation", height_factor,
                                                                width_factor, sampling(options))});
}
Op random_zoom(Factor factor, const Warp& options) {
  return made("random_zoom", {augment::zoom_stage("random_zoom", factor, {}, sampling(options))});
}
Op random_zoom(Factor height_factor, Factor width_factor, const Warp& options) {
  return made("random_zoom",
              {augment::zoom_stage("random_zoom", height_factor, width_factor, sampling(options))});
}
Op random_shear(Factor x_factor, Factor y_factor, const Warp& options) {
  return made("random_shear",
              {augment::shear_stage("random_shear", x_factor, y_factor, sampling(options))});
}
Op random_perspective(const RandomPerspective& options) {
  return made("random_perspective", {augment::perspective_stage(
                                        "random_perspective", options.factor, options.scale,
                                        {"constant", options.interpolation, options.fill_value})});
}
Op random_brightness(Factor factor, const ValueRange& range) {
  return ranged("random_brightness", Kind::brightness, factor, range);
}
Op random_contrast(Factor factor, const ValueRange& range) {
  return ranged("random_contrast", Kind::contrast, factor, range);
}
Op random_saturation(Factor factor, const ValueRange& range) {
  return ranged("random_saturation", Kind::saturation, factor, range);
}
Op random_hue(Factor factor, const ValueRange& range) {
  return ranged("random_hue", Kind::hue, factor, range);
}
Op random_color_degeneration(Factor factor, const ValueRange& range) {
  return ranged("random_color_degeneration", Kind::degeneration, factor, range);
}
Op random_sharpness(Factor factor, const ValueRange& range) {
  return ranged("random_sharpness", Kind::sharpness, factor, range);
}
Op random_invert(Factor factor, const ValueRange& range) {
  return ranged("random_invert", Kind::invert, factor, range);
}
Op random_posterization(Factor bits, const ValueRange& range) {
  return made("random_posterization",
              {augment::posterization_stage("random_posterization", bits, values(range))});
}
Op random_grayscale(double factor) {
  return made("random_grayscale", {augment::grayscale_stage("random_grayscale", factor)});
}
Op solarization(Factor addition_factor, Factor threshold_factor, const ValueRange& range) {
  return made("solarization", {augment::solarization_stage("solarization", addition_factor,
                                                           threshold_factor, values(range))});
}
Op auto_contrast(const ValueRange& range) {
  return made("auto_contrast", {augment::auto_contrast_stage("auto_contrast", values(range))});
}
Op equalization(int64_t bins, const ValueRange& range) {
  return made("equalization", {augment::equalization_stage("equalization", bins, values(range))});
}
Op random_gaussian_blur(const RandomGaussianBlur& options) {
  return made("random_gaussian_blur",
              {augment::blur_stage("random_gaussian_blur", options.factor, options.kernel_height,
                                   options.kernel_width, options.sigma, values(options.range))});
}
Op random_erasing(const RandomErasing& options) {
  return made("random_erasing",
              {augment::erasing_stage("random_erasing", options.factor, options.scale,
                                      options.fill_value, values(options.range))});
}

Op rand_augment(const RandAugment& options) {
  if (options.num_ops < 1)
    throw ValueError(
        fmt::format("rand_augment: num_ops is {}, expected 1 or more", options.num_ops));
  std::vector<Stage> stages = augment::rand_augment_stages(
      "rand_augment", options.factor, options.interpolation, values(options.range));
  Op all = made("rand_augment", stages);
  for (int64_t i = 1; i < options.num_ops; ++i) all = all | made("rand_augment", stages);
  return all;
}

}  // namespace stoker::image
