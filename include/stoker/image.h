// Decoding and transforming pictures: operations that are composed with | and applied to one
// component of a dataset's elements (Dataset::map), or called directly.
//
//   auto op = image::decode_jpeg() | image::random_resized_crop(224) |
//             image::random_flip_left_right();
//   Tensor picture = op(jpeg_bytes, rng);  // uint8[224, 224, 3]
//
// A picture is [height, width, channels], uint8 or float32. A composed operation does as little as
// its result needs: of a JPEG only the region that is kept is decoded, and crop, resize, flips and
// what follows per value happen in one pass over the pixels. Decoding and geometry give the same
// bits as the single operations one after the other; arithmetic in float32 agrees to rounding.
//
// Operations are immutable values, cheap to copy, and may be called from many threads at once.
// Randomness comes only from the Rng that is passed in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <stoker/random.h>
#include <stoker/tensor.h>
#include <stoker/tensor_view.h>

namespace stoker::image {

// Bytes that are no picture, are cut off or corrupt, or a picture above the limit of pixels. The
// text does not name the file, which the operation does not know: the dataset adds it.
class ImageError : public Error {
 public:
  using Error::Error;
};

class Step;  // one operation; defined inside the library

class Op {
 public:
  explicit Op(std::shared_ptr<const Step> step);

  // What becomes of a value of this dtype and shape; dimensions of -1 are unknown. ShapeError when
  // the operation cannot take it.
  TensorSpec infer(const TensorSpec& in) const;
  Tensor operator()(const Tensor& in) const;  // ValueError when is_random()
  Tensor operator()(const Tensor& in, Rng& rng) const;
  std::string name() const;  // "decode_jpeg | random_resized_crop(224)"
  bool is_random() const;

  friend Op operator|(const Op& first, const Op& second);
  std::span<const std::shared_ptr<const Step>> steps() const { return *steps_; }

 private:
  using Steps = std::vector<std::shared_ptr<const Step>>;
  explicit Op(std::shared_ptr<const Steps> steps) : steps_(std::move(steps)) {}

  std::shared_ptr<const Steps> steps_;
};

// --- bytes to pictures: bytes[] to uint8[height, width, channels] ---

struct DecodeJpeg {
  int channels = 3;  // 3: RGB, 1: grey, 0: as in the file
  // Lets the inverse DCT shrink by 1/2, 1/4 or 1/8 where a resize that follows still has twice the
  // pixels it needs. Not exact: single pixels differ by tens of grey levels.
  bool scaled = false;
  int64_t max_pixels = 100'000'000;  // more in the header is an ImageError before memory is taken
};
// Baseline and progressive, grey, RGB, YCbCr, CMYK and YCCK; orientation tags are ignored. What is
// cut off or corrupt in the decoded part is an ImageError; what lies below the region that the
// rest of the operation needs is not looked at.
Op decode_jpeg(const DecodeJpeg& options = {});

struct DecodePng {
  int channels = 3;  // 4: RGBA, 3: RGB (alpha is dropped), 1: grey, 0: as in the file
  int64_t max_pixels = 100'000'000;
};
// All bit depths, palettes, transparency and interlacing; 16 bits per channel become 8.
Op decode_png(const DecodePng& options = {});

struct DecodeImage {
  int channels = 3;  // 3: RGB, 1: grey
  bool scaled = false;
  int64_t max_pixels = 100'000'000;
};
Op decode_image(const DecodeImage& options = {});  // JPEG or PNG, by the first bytes

// --- pictures to bytes, and bytes to bytes ---

struct EncodeJpeg {
  int quality = 95;         // 1 … 100
  bool subsampled = false;  // halves the resolution of colour in both directions
  bool progressive = false;
};
Op encode_jpeg(const EncodeJpeg& options = {});  // uint8[height, width, 1 or 3]

struct RestartMarkers {
  int mcus = 8;  // number of 8×8 or 16×16 pixel blocks between markers
};
// Rewrites a JPEG as baseline with restart markers, so that a decoder can pass over what a crop
// leaves out. The coefficients, hence the pixels, stay the same.
Op add_restart_markers(const RestartMarkers& options = {});

// --- geometry: uint8 or float32 [height, width, channels] ---

// As in TensorFlow 2 and PyTorch, pixel centres are at half-integers.
//   bilinear  two pixels in each direction; with antialias a triangle as wide as the shrinking asks
//             for, as in PIL
//   nearest   one pixel
//   area      the mean of what a target pixel covers
enum class ResizeMethod { bilinear, nearest, area };

struct Resize {
  ResizeMethod method = ResizeMethod::bilinear;
  bool antialias = false;
};
Op resize(int64_t height, int64_t width, const Resize& options = {});

Op crop(int64_t y, int64_t x, int64_t height, int64_t width);
Op center_crop(int64_t height, int64_t width);
struct RandomCrop {
  int64_t padding = 0;  // zeros added on each side before the crop
};
Op random_crop(int64_t height, int64_t width, const RandomCrop& options = {});

struct Range {
  double low, high;
};
struct RandomResizedCrop {
  Range scale = {0.08, 1};           // of the picture's area
  Range ratio = {3.0 / 4, 4.0 / 3};  // width / height
  ResizeMethod method = ResizeMethod::bilinear;
  bool antialias = true;
};
Op random_resized_crop(int64_t size, const RandomResizedCrop& options = {});
Op random_resized_crop(int64_t height, int64_t width, const RandomResizedCrop& options = {});

Op flip_left_right();
Op flip_up_down();
Op random_flip_left_right(double probability = 0.5);
Op random_flip_up_down(double probability = 0.5);

// --- colour: uint8 or float32, as tf.image.adjust_* and tf.image.random_* ---

// delta is a fraction of the full range: 0.1 adds 25.5 to uint8.
Op brightness(double delta);
Op contrast(double factor);                      // about the mean of each channel
Op saturation(double factor);                    // three channels
Op random_brightness(double max_delta);          // delta in [-max_delta, max_delta)
Op random_contrast(double lower, double upper);  // factor in [lower, upper)
Op random_saturation(double lower, double upper);

// --- values: any shape ---

// (x - mean) / deviation in float32, by the last dimension: one number for each channel, or one for
// all. In the units of x: put convert(DType::float32) before it when they are meant for 0 … 1.
Op normalize(std::vector<double> mean, std::vector<double> deviation);
Op rescale(double scale, double offset = 0);  // x · scale + offset in float32
// As tf.image.convert_image_dtype: the range of an integer type is 0 … 1 of a floating one.
// Saturates.
Op convert(DType dtype);
Op cast(DType dtype);       // the numbers as they are; towards zero, saturating
Op one_hot(int64_t depth);  // integers [...] to float32 [..., depth]; ValueError beyond depth

// A picture as functions of users see it. Valid as long as the view it was made of.
struct Image {
  int64_t height = 0, width = 0, channels = 0;
  const uint8_t* data = nullptr;  // [height, width, channels]

  Image() = default;
  explicit Image(const ConstTensorView& view);  // ShapeError unless uint8 of rank 3
  std::span<const uint8_t> row(int64_t y) const {
    return {data + y * width * channels, size_t(width * channels)};
  }
  const uint8_t* pixel(int64_t y, int64_t x) const { return data + (y * width + x) * channels; }
};

}  // namespace stoker::image
