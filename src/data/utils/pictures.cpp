// load_img, img_to_array, array_to_img, save_img.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <stoker/image.h>
#include <stoker/utils.h>

#include "base/file.h"
#include "data/image/jpeg_writer.h"
#include "data/image/png_writer.h"
#include "data/sources/labelled_files.h"
#include "data/utils/pictures.h"

namespace stoker::utils {

namespace {

bool is_png(const std::string& bytes) { return bytes.starts_with("\x89PNG"); }

int channels_of(const std::string& color_mode) {
  if (color_mode == "grayscale") return 1;
  if (color_mode == "rgb") return 3;
  if (color_mode == "rgba") return 4;
  throw ValueError(fmt::format(
      "load_img: expected color_mode \"grayscale\", \"rgb\" or \"rgba\", got \"{}\"", color_mode));
}

Tensor with_alpha(const Tensor& rgb) {
  int64_t pixels = rgb.elements() / 3;
  Tensor out(DType::uint8, rgb.shape().with(2, 4));
  const auto* from = rgb.data<uint8_t>();
  auto* to = out.data_mut<uint8_t>();
  for (int64_t i = 0; i < pixels; ++i) {
    std::copy_n(from + 3 * i, 3, to + 4 * i);
    to[4 * i + 3] = 255;
  }
  return out;
}

Tensor decoded(const std::string& bytes, int channels) {
  Tensor encoded = Tensor::from({bytes}, {});
  if (channels < 4) return image::decode_image({.channels = channels})(encoded);
  if (is_png(bytes)) return image::decode_png({.channels = 4})(encoded);
  return with_alpha(image::decode_image()(encoded));
}

// The largest part in the middle that has the target's aspect ratio, as Keras cuts it.
Tensor middle(const Tensor& picture, const std::array<int64_t, 2>& target) {
  int64_t height = picture.shape()[0], width = picture.shape()[1];
  int64_t cut_height = std::clamp<int64_t>(width * target[0] / target[1], 1, height);
  int64_t cut_width = std::clamp<int64_t>(height * target[1] / target[0], 1, width);
  return image::crop((height - cut_height) / 2, (width - cut_width) / 2, cut_height,
                     cut_width)(picture);
}

Tensor resized(Tensor picture, const LoadImgOptions& options) {
  const auto& size = options.target_size;
  if (size[0] == 0 && size[1] == 0) return picture;
  if (size[0] < 1 || size[1] < 1)
    throw ValueError(
        fmt::format("load_img: expected target_size {{height, width}} of 1 or more, got {{{}, {}}}",
                    size[0], size[1]));
  if (options.keep_aspect_ratio) picture = middle(picture, size);
  return image::resize(size[0], size[1],
                       {.method = resize_method("load_img", options.interpolation)})(picture);
}

Tensor as_picture(const char* who, const Tensor& x) {
  if (x.shape().rank() == 3) return x;
  if (x.shape().rank() == 2) return x.reshape({x.shape()[0], x.shape()[1], 1});
  throw ShapeError(fmt::format("{}: expected [height, width] or [height, width, channels], got {}",
                               who, to_string(x.shape())));
}

std::string format_of(const std::string& path, const std::string& given) {
  std::string format = given;
  if (format.empty() && data::has_extension(path, {".png"})) format = "png";
  if (format.empty() && data::has_extension(path, {".jpg", ".jpeg"})) format = "jpeg";
  if (format == "jpg") format = "jpeg";
  if (format == "png" || format == "jpeg") return format;
  throw ValueError(
      fmt::format("save_img: \"{}\": expected a path that ends in .png, .jpg or .jpeg, "
                  "or .file_format = \"png\" or \"jpeg\"{}",
                  path, given.empty() ? "" : ", got \"" + given + "\""));
}

}  // namespace

image::ResizeMethod resize_method(const char* who, const std::string& interpolation) {
  if (interpolation == "nearest") return image::ResizeMethod::nearest;
  if (interpolation == "bilinear") return image::ResizeMethod::bilinear;
  if (interpolation == "area") return image::ResizeMethod::area;
  throw ValueError(
      fmt::format("{}: expected interpolation \"nearest\", \"bilinear\" or \"area\", got \"{}\"",
                  who, interpolation));
}

Tensor load_img(const std::string& path, const LoadImgOptions& options) {
  int channels = channels_of(options.color_mode);
  std::string bytes = read_text(path);
  try {
    return resized(decoded(bytes, channels), options);
  } catch (const image::ImageError& error) {
    throw FileError(path + ": " + error.what());
  }
}

Tensor img_to_array(const Tensor& img, DType dtype) {
  return as_picture("img_to_array", img).cast(dtype);
}

Tensor array_to_img(const Tensor& x, const ArrayToImgOptions& options) {
  Tensor picture = as_picture("array_to_img", x);
  if (!options.scale || picture.elements() == 0) return picture.cast(DType::uint8);
  double low = picture.min(), high = picture.max();
  if (!std::isfinite(low) || !std::isfinite(high))
    throw ValueError(fmt::format("array_to_img: expected finite values, got {} … {}", low, high));
  double range = high > low ? high - low : 1;
  Tensor out(DType::uint8, picture.shape());
  auto* to = out.data_mut<uint8_t>();
  for (int64_t i = 0; i < picture.elements(); ++i)
    to[i] = uint8_t((picture.at(i) - low) / range * 255);
  return out;
}

void save_img(const std::string& path, const Tensor& x, const SaveImgOptions& options) {
  std::string format = format_of(path, options.file_format), bytes;
  Tensor picture = array_to_img(x, {.scale = options.scale});
  if (format == "png")
    image::write_png(image::Image(ConstTensorView(picture)), bytes);
  else
    bytes = *static_cast<const std::string*>(
        image::encode_jpeg({.quality = options.quality})(picture).raw());
  write_file_atomically(path, bytes);
}

}  // namespace stoker::utils
