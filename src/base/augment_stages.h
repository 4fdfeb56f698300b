// Stages of base/augment.h from options as Keras has them, checked; in attributes and back; and run on
// one sample. What layers and steps of pipelines share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <stoker/factor.h>

#include "base/augment_pixels.h"

namespace stoker::augment {

struct Sampling {
  std::string fill_mode = "reflect";       // constant, nearest, reflect, wrap
  std::string interpolation = "bilinear";  // or nearest
  double fill_value = 0;
};

// Each: ValueError in the name of `owner` for a range outside of what the augmentation knows.
Stage flip_stage(const std::string& owner, const std::string& mode);
Stage rotation_stage(const std::string& owner, const Factor& factor, const Sampling& how);
Stage translation_stage(const std::string& owner, const Factor& height, const Factor& width,
                        const Sampling& how);
Stage zoom_stage(const std::string& owner, const Factor& height, const std::optional<Factor>& width,
                 const Sampling& how);
Stage shear_stage(const std::string& owner, const Factor& x, const Factor& y, const Sampling& how);
Stage perspective_stage(const std::string& owner, const Factor& factor, double scale,
                        const Sampling& how);
Stage crop_stage();
// Of a kind with one range: brightness, contrast, hue, saturation, degeneration, invert, sharpness.
Stage range_stage(const std::string& owner, Kind kind, const Factor& factor, const Factor& values);
Stage grayscale_stage(const std::string& owner, double probability);
Stage posterization_stage(const std::string& owner, const Factor& bits, const Factor& values);
Stage solarization_stage(const std::string& owner, const Factor& addition, const Factor& threshold,
                         const Factor& values);
Stage blur_stage(const std::string& owner, const Factor& factor, int64_t height, int64_t width,
                 const Factor& sigma, const Factor& values);
Stage auto_contrast_stage(const std::string& owner, const Factor& values);
Stage equalization_stage(const std::string& owner, int64_t bins, const Factor& values);
Stage erasing_stage(const std::string& owner, const Factor& factor, const Factor& scale,
                    const std::optional<double>& fill_value, const Factor& values);
Stage noise_stage(double deviation);
// The eleven that RandAugment chooses from.
std::vector<Stage> rand_augment_stages(const std::string& owner, const Factor& factor,
                                       const std::string& interpolation, const Factor& values);

// Those that AugMix chooses from, and one that changes nothing; `all`: of brightness, colour, contrast
// and sharpness too.
std::vector<Stage> aug_mix_stages(const std::string& owner, const Factor& factor,
                                  const std::string& interpolation, const Factor& values, bool all);

struct Range {
  double low, high;
};
// A factor within [0, 1]; a single number f is 0 … f.
Range share_range(const std::string& owner, const char* name, const Factor& factor);

// Whether the formula needs three channels: RGB.
bool needs_colours(Kind kind);

inline constexpr size_t kMostStages = 16;
std::vector<double> numbers_of(std::span<const Stage> stages);  // kStageNumbers each
std::vector<Stage> stages_of(
    std::span<const double> numbers);  // ValueError for other counts, kinds

// Draws one of the stages for the sample and writes the result, [to.height, to.width, channels].
// scratch: at least kMostBins · channels.
template <class T>
void run_sample(std::span<const Stage> stages, const Key& key, const Picture<T>& from, Extent to,
                T* out, T* scratch) {
  Drawn drawn = draw(stages.data(), int(stages.size()), key, {from.height, from.width}, to);
  int own = statistics_per_channel(drawn.kind);
  for (int32_t c = 0; own > 0 && c < from.channels; ++c)
    statistics(drawn, from, c, scratch + c * own);
  for (int32_t y = 0; y < to.height; ++y)
    for (int32_t x = 0; x < to.width; ++x, out += from.channels)
      pixel(drawn, scratch, from, y, x, out);
}

}  // namespace stoker::augment
