// Augmentation of pictures on the device, by Keras's names and defaults. Part of layers.h.
//
//   Sequential({Input({224, 224, 3}, {.dtype = DType::uint8}), RandomFlip("horizontal"),
//               RandomRotation(0.05), RandomContrast(0.2), Rescaling(1.0 / 255), …})
//
// Input: [B, H, W, C] of any numbers; output: float32. What is random does nothing in inference. Every
// sample has draws of its own, from the model's random state: the same seed gives the same pictures,
// and a resumed run continues with them. image.h has the same augmentations as steps of a pipeline.
// Gradients end here: augmentation comes before what learns.
#pragma once

#include <optional>
#include <string>

#include <stoker/factor.h>
#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

// --- sizes --------------------------------------------------------------------------------------

struct ResizingOptions {
  std::string interpolation = "bilinear";  // nearest, bicubic, lanczos3, lanczos5
  bool crop_to_aspect_ratio = false;       // keeps the ratio of the sides, cutting the longer ones
  bool pad_to_aspect_ratio = false;        // keeps it, with fill_value beside the picture
  std::string fill_mode = "constant";
  double fill_value = 0.0;
  bool antialias = false;
  std::string name = "";
  std::string dtype = "";
};
// Of the input's dtype: whole numbers are rounded.
class Resizing : public Layer {
 public:
  Resizing(int64_t height, int64_t width, const ResizingOptions& options = {});
};
// The middle of the picture; a smaller one is resized.
class CenterCrop : public Layer {
 public:
  CenterCrop(int64_t height, int64_t width, const LayerOptions& options = {});
};
// Some place of the picture per sample, in inference the middle; a smaller one is resized.
class RandomCrop : public Layer {
 public:
  RandomCrop(int64_t height, int64_t width, const LayerOptions& options = {});
};

// --- geometry -----------------------------------------------------------------------------------

struct WarpOptions {
  std::string fill_mode = "reflect";       // what lies outside: reflect, wrap, nearest, constant
  std::string interpolation = "bilinear";  // or nearest
  double fill_value = 0.0;                 // for constant
  std::string name = "";
  std::string dtype = "";
};

// mode: "horizontal", "vertical" or both, each drawn on its own.
class RandomFlip : public Layer {
 public:
  explicit RandomFlip(const std::string& mode = "horizontal_and_vertical",
                      const LayerOptions& options = {});
};
class RandomRotation : public Layer {  // factor of a whole turn, -f … f
 public:
  explicit RandomRotation(Factor factor, const WarpOptions& options = {});
};
class RandomTranslation : public Layer {  // factors of the extent, -f … f
 public:
  RandomTranslation(Factor height_factor, Factor width_factor, const WarpOptions& options = {});
};
struct RandomZoomOptions {
  std::optional<Factor> width_factor = {};  // none: the same zoom as the height's
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  double fill_value = 0.0;
  std::string name = "";
  std::string dtype = "";
};
class RandomZoom : public Layer {  // -f … f; above 0 the picture becomes smaller
 public:
  explicit RandomZoom(Factor height_factor, const RandomZoomOptions& options = {});
};
class RandomShear : public Layer {  // 0 … f, in either direction
 public:
  explicit RandomShear(Factor x_factor = 0.0, Factor y_factor = 0.0,
                       const WarpOptions& options = {});
};
struct RandomPerspectiveOptions {
  Factor factor = 1.0;  // how often
  double scale = 1.0;   // how far corners move, of half their place
  std::string interpolation = "bilinear";
  double fill_value = 0.0;
  std::string name = "";
  std::string dtype = "";
};
class RandomPerspective : public Layer {
 public:
  explicit RandomPerspective(const RandomPerspectiveOptions& options = {});
};
struct RandomElasticTransformOptions {
  Factor factor = 1.0;                     // how often
  Factor scale = 1.0;                      // how far and how smoothly, drawn per batch
  std::string interpolation = "bilinear";  // or nearest
  std::string fill_mode = "reflect";       // wrap, nearest, constant
  double fill_value = 0.0;
  Factor value_range = {0, 255};
  std::string name = "";
  std::string dtype = "";
};
// Pixels move by a smooth random field, up to a tenth of the longer side (ops::image::elastic_transform).
class RandomElasticTransform : public Layer {
 public:
  explicit RandomElasticTransform(const RandomElasticTransformOptions& options = {});
};

// --- colour -------------------------------------------------------------------------------------

struct ColorOptions {
  Factor value_range = {0, 255};  // of the values
  std::string name = "";
  std::string dtype = "";
};

class RandomBrightness : public Layer {  // adds -f … f of the value range
 public:
  explicit RandomBrightness(Factor factor, const ColorOptions& options = {});
};
class RandomContrast : public Layer {  // by 1 - lower … 1 + upper, about each channel's mean
 public:
  explicit RandomContrast(Factor factor, const ColorOptions& options = {});
};
class RandomHue : public Layer {  // 0 … f of half a turn, in either direction; RGB
 public:
  explicit RandomHue(Factor factor, const ColorOptions& options = {});
};
class RandomSaturation : public Layer {  // 0.5 changes nothing, 0 is grey; RGB
 public:
  explicit RandomSaturation(Factor factor, const ColorOptions& options = {});
};
class RandomColorDegeneration : public Layer {  // 0 changes nothing, 1 is grey; RGB
 public:
  explicit RandomColorDegeneration(Factor factor, const ColorOptions& options = {});
};
class RandomSharpness : public Layer {  // 0.5 changes nothing, 0 is smooth, 1 sharp
 public:
  explicit RandomSharpness(Factor factor, const ColorOptions& options = {});
};
class RandomInvert : public Layer {  // the factor is how often
 public:
  explicit RandomInvert(Factor factor = 1.0, const ColorOptions& options = {});
};
class RandomPosterization : public Layer {  // bits that stay, 1 … 8
 public:
  explicit RandomPosterization(Factor factor, const ColorOptions& options = {});
};
class RandomGrayscale : public Layer {  // how often; RGB, three equal channels
 public:
  explicit RandomGrayscale(double factor = 0.5, const LayerOptions& options = {});
};
struct SolarizationOptions {
  Factor addition_factor = 0.0;
  Factor threshold_factor = 0.0;  // inverts what is above
  Factor value_range = {0, 255};
  std::string name = "";
  std::string dtype = "";
};
class Solarization : public Layer {
 public:
  explicit Solarization(const SolarizationOptions& options = {});
};
class AutoContrast : public Layer {  // each channel fills the value range
 public:
  explicit AutoContrast(const ColorOptions& options = {});
};
struct EqualizationOptions {
  Factor value_range = {0, 255};
  int64_t bins = 256;
  std::string name = "";
  std::string dtype = "";
};
class Equalization : public Layer {  // of each sample's histograms, by channel
 public:
  explicit Equalization(const EqualizationOptions& options = {});
};
struct ContrastLimitedAdaptiveHistogramEqualizationOptions {
  Factor value_range = {0, 255};
  double clip_limit = 4.0;   // of a bin, in mean counts; 0: none
  Size2 tile_grid_size = 8;  // tiles along height and width
  std::string name = "";
  std::string dtype = "";
};
// CLAHE: a histogram per tile and channel, cut at clip_limit; a pixel is between those of the four
// nearest tiles.
class ContrastLimitedAdaptiveHistogramEqualization : public Layer {
 public:
  explicit ContrastLimitedAdaptiveHistogramEqualization(
      const ContrastLimitedAdaptiveHistogramEqualizationOptions& options = {});
};
struct RandomColorJitterOptions {
  Factor value_range = {0, 255};
  std::optional<Factor> brightness_factor = {};
  std::optional<Factor> contrast_factor = {};
  std::optional<Factor> saturation_factor = {};
  std::optional<Factor> hue_factor = {};
  std::string name = "";
  std::string dtype = "";
};
// Those that are given, in this order.
class RandomColorJitter : public Layer {
 public:
  explicit RandomColorJitter(const RandomColorJitterOptions& options = {});
};

// --- blur, holes, policies ----------------------------------------------------------------------

struct RandomGaussianBlurOptions {
  Factor factor = 1.0;  // how often
  Size2 kernel_size = 3;
  Factor sigma = 1.0;
  Factor value_range = {0, 255};
  std::string name = "";
  std::string dtype = "";
};
class RandomGaussianBlur : public Layer {
 public:
  explicit RandomGaussianBlur(const RandomGaussianBlurOptions& options = {});
};
struct RandomErasingOptions {
  Factor factor = 1.0;                    // how often
  Factor scale = {0.02, 0.33};            // of each side, squared
  std::optional<double> fill_value = {};  // none: noise
  Factor value_range = {0, 255};
  std::string name = "";
  std::string dtype = "";
};
class RandomErasing : public Layer {
 public:
  explicit RandomErasing(const RandomErasingOptions& options = {});
};
struct RandAugmentOptions {
  Factor value_range = {0, 255};
  int64_t num_ops = 2;  // one after the other
  Factor factor = 0.5;  // how strong
  std::string interpolation = "bilinear";
  std::string name = "";
  std::string dtype = "";
};
// Per sample, num_ops of shear, translation, rotation, brightness, colour, contrast, sharpness,
// solarisation, posterisation, automatic contrast and equalisation.
class RandAugment : public Layer {
 public:
  explicit RandAugment(const RandAugmentOptions& options = {});
};
struct AugMixOptions {
  Factor value_range = {0, 255};
  int64_t num_chains = 3;
  int64_t chain_depth = 3;  // augmentations of a chain, each of which may be none
  Factor factor = 0.3;      // how strong
  double alpha = 1.0;       // of the Dirichlet and Beta distributions of the weights
  bool all_ops = true;      // false: no brightness, colour, contrast and sharpness
  std::string interpolation = "bilinear";
  std::string name = "";
  std::string dtype = "";
};
// The sample and the mean of num_chains chains of augmentations, weighted by random numbers. Unlike
// in Keras, every sample has chains and weights of its own.
class AugMix : public Layer {
 public:
  explicit AugMix(const AugMixOptions& options = {});
};

// --- two samples --------------------------------------------------------------------------------

// Every sample with another one of its batch, λ : 1 - λ, λ of Beta(alpha, alpha). call_all({images,
// labels}) mixes float labels [B, classes] too.
class MixUp : public Layer {
 public:
  explicit MixUp(double alpha = 0.2, const LayerOptions& options = {});
};
// A box of another sample in every sample; labels as MixUp, by the box's share. λ of Beta(factor,
// factor).
class CutMix : public Layer {
 public:
  explicit CutMix(Factor factor = 1.0, const LayerOptions& options = {});
};

}  // namespace stoker
