#include "image/pictures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>
#include <stoker/random.h>

namespace stoker::test {

Tensor make_picture(int64_t height, int64_t width, int64_t channels, uint64_t seed) {
  Tensor picture(DType::uint8, {height, width, channels});
  auto* out = picture.data_mut<uint8_t>();
  Rng rng(seed);
  double phase = rng.uniform(0, 6);
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c) {
        double wave = 90 * std::sin(0.13 * double(x + c * 5) + phase) * std::cos(0.07 * double(y));
        double edge = (x / 9 + y / 13 + c) % 3 == 0 ? 60 : 0;
        double value = 110 + wave + edge + rng.uniform(-12, 12);
        *out++ = uint8_t(std::clamp(value, 0.0, 255.0));
      }
  return picture;
}

Tensor make_float_picture(int64_t height, int64_t width, int64_t channels, uint64_t seed) {
  Tensor bytes = make_picture(height, width, channels, seed);
  Tensor picture(DType::float32, bytes.shape());
  for (int64_t i = 0; i < bytes.elements(); ++i)
    picture.data_mut<float>()[i] = float(bytes.data<uint8_t>()[i]) / 255;
  return picture;
}

Tensor bytes_tensor(std::string bytes) {
  Tensor tensor(DType::bytes, {});
  *tensor.data_mut<std::string>() = std::move(bytes);
  return tensor;
}

const std::string& bytes_in(const Tensor& tensor) { return *tensor.data<std::string>(); }

std::string make_jpeg(const Tensor& picture, const JpegForm& form) {
  const Shape& shape = picture.shape();
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_height = JDIMENSION(shape[0]);
  info.image_width = JDIMENSION(shape[1]);
  info.input_components = int(shape[2]);
  info.in_color_space = shape[2] == 1 ? JCS_GRAYSCALE : shape[2] == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (form.ycck) jpeg_set_colorspace(&info, JCS_YCCK);
  if (form.rgb) jpeg_set_colorspace(&info, JCS_RGB);
  jpeg_set_quality(&info, form.quality, TRUE);
  info.comp_info[0].h_samp_factor = form.h;
  info.comp_info[0].v_samp_factor = form.v;
  if (info.num_components == 4) {
    info.comp_info[3].h_samp_factor = form.h;
    info.comp_info[3].v_samp_factor = form.v;
  }
  info.restart_interval = unsigned(form.restart);
  if (form.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (form.exif) {  // orientation 6: turned by 90 degrees
    const char exif[] = "Exif\0\0MM\0*\0\0\0\x8\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0";
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif),
                      sizeof(exif) - 1);
  }
  for (int64_t y = 0; y < shape[0]; ++y) {
    auto* row = const_cast<uint8_t*>(picture.data<uint8_t>() + y * shape[1] * shape[2]);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string out(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  return out;
}

namespace {

void append(png_structp png, png_bytep data, size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<const char*>(data), count);
}

// The picture's values in the depth of the file; small depths keep the upper bits.
std::vector<uint8_t> png_row(const uint8_t* from, int64_t values, int depth) {
  std::vector<uint8_t> row;
  for (int64_t i = 0; i < values; ++i) {
    if (depth == 16) {
      row.push_back(from[i]);
      row.push_back(from[i]);
    } else if (depth == 8) {
      row.push_back(from[i]);
    } else {
      if (i * depth % 8 == 0) row.push_back(0);
      row.back() |= uint8_t(from[i] >> (8 - depth) << (8 - depth - i * depth % 8));
    }
  }
  return row;
}

}  // namespace

std::string make_png(const Tensor& picture, const PngForm& form) {
  static const int kTypes[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                               PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  const Shape& shape = picture.shape();
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string out;
  png_set_write_fn(png, &out, append, nullptr);
  png_set_IHDR(png, info, png_uint_32(shape[1]), png_uint_32(shape[0]), form.depth,
               form.palette ? PNG_COLOR_TYPE_PALETTE : kTypes[shape[2]],
               form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> colors(size_t(1) << std::min(form.depth, 8));
  for (size_t i = 0; i < colors.size(); ++i)
    colors[i] = {png_byte(i * 7), png_byte(255 - i), png_byte(i * 3 + 1)};
  if (form.palette) png_set_PLTE(png, info, colors.data(), int(colors.size()));
  png_byte alpha[2] = {0, 128};
  png_color_16 key = {0, 1, 2, 3, 4};
  if (form.transparent)
    png_set_tRNS(png, info, form.palette ? alpha : nullptr, form.palette ? 2 : 0, &key);
  png_write_info(png, info);
  std::vector<std::vector<uint8_t>> rows;
  std::vector<png_bytep> pointers;
  int64_t values = shape[1] * shape[2];
  for (int64_t y = 0; y < shape[0]; ++y)
    rows.push_back(png_row(picture.data<uint8_t>() + y * values, values, form.depth));
  for (auto& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return out;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(to_string(a.spec()), to_string(b.spec()));
  if (!(a.spec() == b.spec())) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i)
    largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
  return largest;
}

double mean_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(to_string(a.spec()), to_string(b.spec()));
  if (!(a.spec() == b.spec())) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (int64_t i = 0; i < a.elements(); ++i) sum += std::abs(a.at(i) - b.at(i));
  return sum / double(a.elements());
}

}  // namespace stoker::test
