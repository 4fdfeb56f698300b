// Images [B, H, W, C] (or [H, W, C]) resized, sampled, cut and coloured, inside a graph and with
// gradients. Whole-number images are computed in float32 and rounded back.
#pragma once

#include <array>
#include <optional>
#include <string>

#include <stoker/value.h>

namespace stoker::ops::image {

struct Resize {
  std::string interpolation = "bilinear";  // nearest, bicubic, lanczos3, lanczos5
  bool antialias = false;                  // wider kernels where the image shrinks
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  double fill_value = 0;
};
// Pixels are areas: their centres stand at halves, as in tf.image.resize.
Value resize(const Value& images, std::array<int64_t, 2> size, const Resize& options = {});

struct Sampling {
  std::string interpolation = "bilinear";  // nearest
  std::string fill_mode = "constant";      // nearest, reflect, wrap
  double fill_value = 0;
};
// transform: [8] or [B, 8]; pixel (x, y) of the result is that of the image at
// ((t₀x + t₁y + t₂) / k, (t₃x + t₄y + t₅) / k), k = t₆x + t₇y + 1.
Value affine_transform(const Value& images, const Value& transform, const Sampling& options = {});
// images with the corners of start_points where those of end_points are; both [4, 2] or [B, 4, 2], (x, y)
// of top left, bottom left, top right, bottom right. Outside is fill_value.
struct Perspective {
  std::string interpolation = "bilinear";  // nearest
  double fill_value = 0;
};
Value perspective_transform(const Value& images, const Value& start_points, const Value& end_points,
                            const Perspective& options = {});

// [B, H, W, C] → [B, size[0], size[1], C]: what stands at row y of the images stands at scale · y +
// translation of the result, with pixels of size 1 from 0 on. Zero where there is no image.
struct ScaleAndTranslate {
  std::array<double, 2> scale = {1, 1};  // of rows, of columns
  std::array<double, 2> translation = {0, 0};
  std::string method = "linear";  // cubic, lanczos3, lanczos5
  bool antialias = true;          // wider kernels where the image shrinks
};
Value scale_and_translate(const Value& images, std::array<int64_t, 2> size,
                          const ScaleAndTranslate& options = {});
// The elements of x at coordinates [rank, ..]; order 0: the nearest, 1: linear.
struct MapCoordinates {
  int order = 1;
  std::string fill_mode = "constant";  // nearest, reflect, mirror, wrap
  double fill_value = 0;
};
Value map_coordinates(const Value& x, const Value& coordinates, const MapCoordinates& options = {});

struct Elastic {
  double alpha = 20;                       // how far pixels move
  double sigma = 5;                        // how smoothly
  std::string interpolation = "bilinear";  // nearest
  std::string fill_mode = "reflect";       // constant, nearest, wrap
  double fill_value = 0;
  std::optional<int64_t> seed = {};
};
// Every pixel moves by alpha times a random field, which is blurred by sigma, as Keras's: along rows
// and columns alike.
Value elastic_transform(const Value& images, const Elastic& options = {});

struct Patches {
  std::array<int64_t, 2> strides = {0, 0};  // 0: the size
  int64_t dilation_rate = 1;
  std::string padding = "valid";  // same
};
// [B, H', W', rows · columns · C]
Value extract_patches(const Value& images, std::array<int64_t, 2> size,
                      const Patches& options = {});
struct Patches3d {
  std::array<int64_t, 3> strides = {0, 0, 0};  // 0: the size
  int64_t dilation_rate = 1;
  std::string padding = "valid";  // same
};
// [B, D, H, W, C] (or without B) → [B, D', H', W', depth · rows · columns · C]
Value extract_patches_3d(const Value& volumes, std::array<int64_t, 3> size,
                         const Patches3d& options = {});
struct Edges {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};
Value crop_images(const Value& images, const Edges& cropping);
Value pad_images(const Value& images, const Edges& padding);

// RGB in the last axis, in [0, 1]; hue, saturation and value too.
Value rgb_to_grayscale(const Value& images);
Value rgb_to_hsv(const Value& images);
Value hsv_to_rgb(const Value& images);

struct GaussianBlur {
  std::array<int64_t, 2> kernel_size = {3, 3};
  std::array<double, 2> sigma = {1, 1};
};
Value gaussian_blur(const Value& images, const GaussianBlur& options = {});
Value sobel_edges(const Value& images);  // [B, H, W, C, 2]: along rows, along columns
struct Ssim {
  double max_val = 1;
  int64_t filter_size = 11;
  double filter_sigma = 1.5;
  double k1 = 0.01;
  double k2 = 0.03;
};
Value ssim(const Value& a, const Value& b, const Ssim& options = {});  // [B]

}  // namespace stoker::ops::image
