// Keras's augmentations as steps of a pipeline (image.h), with the draws and formulas of the layers
// of the same names (augmentation_layers.h): the same key gives the same picture.
//
//   auto op = image::decode_jpeg() | image::resize(224, 224) | image::random_flip("horizontal") |
//             image::random_rotation(0.05) | image::rand_augment();
//
// A picture is [height, width, channels], uint8 or float32, and stays of its dtype: uint8 is rounded
// and kept within 0 … 255. What a Factor may be, the layers say.
#pragma once

#include <optional>
#include <string>

#include <stoker/element.h>
#include <stoker/factor.h>
#include <stoker/image.h>

namespace stoker::image {

struct Warp {
  std::string fill_mode = "reflect";       // reflect, wrap, nearest, constant
  std::string interpolation = "bilinear";  // or nearest
  double fill_value = 0;
};
Op random_flip(const std::string& mode = "horizontal_and_vertical");
Op random_rotation(Factor factor, const Warp& options = {});
Op random_translation(Factor height_factor, Factor width_factor, const Warp& options = {});
// The same zoom of height and width, or one for each.
Op random_zoom(Factor factor, const Warp& options = {});
Op random_zoom(Factor height_factor, Factor width_factor, const Warp& options = {});
Op random_shear(Factor x_factor, Factor y_factor = 0.0, const Warp& options = {});
struct RandomPerspective {
  Factor factor = 1.0;  // how often
  double scale = 1;
  std::string interpolation = "bilinear";
  double fill_value = 0;
};
Op random_perspective(const RandomPerspective& options = {});

// The range of the values: bytes, unless said otherwise.
struct ValueRange {
  double low = 0, high = 255;
};
Op random_brightness(Factor factor, const ValueRange& range);
Op random_contrast(Factor factor, const ValueRange& range);
Op random_saturation(Factor factor, const ValueRange& range);
Op random_hue(Factor factor, const ValueRange& range = {});
Op random_color_degeneration(Factor factor, const ValueRange& range = {});
Op random_sharpness(Factor factor, const ValueRange& range = {});
Op random_invert(Factor factor = 1.0, const ValueRange& range = {});
Op random_posterization(Factor bits, const ValueRange& range = {});
Op random_grayscale(double factor = 0.5);
Op solarization(Factor addition_factor = 0.0, Factor threshold_factor = 0.0,
                const ValueRange& range = {});
Op auto_contrast(const ValueRange& range = {});
Op equalization(int64_t bins = 256, const ValueRange& range = {});

struct RandomGaussianBlur {
  Factor factor = 1.0;  // how often
  int64_t kernel_height = 3, kernel_width = 3;
  Factor sigma = 1.0;
  ValueRange range = {};
};
Op random_gaussian_blur(const RandomGaussianBlur& options = {});
struct RandomErasing {
  Factor factor = 1.0;
  Factor scale = {0.02, 0.33};
  std::optional<double> fill_value = {};  // none: noise
  ValueRange range = {};
};
Op random_erasing(const RandomErasing& options = {});
struct RandAugment {
  int64_t num_ops = 2;
  Factor factor = 0.5;
  std::string interpolation = "bilinear";
  ValueRange range = {};
};
Op rand_augment(const RandAugment& options = {});

// The next three do for a picture what the layers do for a batch. Two of them draw numbers of their
// own: pictures of the same distribution, not the same pictures.
struct AugMix {
  int64_t num_chains = 3;
  int64_t chain_depth = 3;  // augmentations of a chain, each of which may be none
  Factor factor = 0.3;      // how strong
  double alpha = 1.0;       // of the Dirichlet and Beta distributions of the weights
  bool all_ops = true;      // false: no brightness, colour, contrast and sharpness
  std::string interpolation = "bilinear";
  ValueRange range = {};
};
Op aug_mix(const AugMix& options = {});
struct RandomElasticTransform {
  Factor factor = 1.0;  // how often
  Factor scale = 1.0;   // how far and how smoothly
  std::string interpolation = "bilinear";
  std::string fill_mode = "reflect";
  double fill_value = 0;
  ValueRange range = {};
};
Op random_elastic_transform(const RandomElasticTransform& options = {});
struct ContrastLimitedAdaptiveHistogramEqualization {
  double clip_limit = 4.0;  // of a bin, in mean counts; 0: none
  int64_t tile_rows = 8, tile_columns = 8;
  ValueRange range = {};
};
Op contrast_limited_adaptive_histogram_equalization(
    const ContrastLimitedAdaptiveHistogramEqualization& options = {});

// --- two samples: functions of batches ----------------------------------------------------------

//   ds.map(decode).batch(64).map(image::mix_up(0.2))
// Component 0 is pictures [B, H, W, C] and becomes float32; component 1, where there is one, float
// labels [B, classes]. Others stay as they are.
data::FunctionRef mix_up(double alpha = 0.2);
data::FunctionRef cut_mix(Factor factor = 1.0);

}  // namespace stoker::image
