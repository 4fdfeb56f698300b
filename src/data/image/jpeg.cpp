#include "data/image/jpeg.h"

#include <algorithm>

#include <fmt/format.h>

#include "data/image/jpeg_entropy.h"
#include "data/image/jpeg_handle.h"
#include "data/image/scratch.h"

namespace stoker::image {
namespace {

constexpr int64_t kRowsAtOnce = 16;
// Smooth upsampling of colour looks at neighbours that libjpeg has not got at the borders of a
// cropped region: with two more pixels on each side the kept ones are those of a full decode.
constexpr int64_t kMargin = 2;

// Adobe's files hold inverted inks.
void rgb_of_cmyk(const uint8_t* cmyk, bool inverted, uint8_t* rgb) {
  int flip = inverted ? 0 : 255;
  int key = cmyk[3] ^ flip;
  for (int ink = 0; ink < 3; ++ink) rgb[ink] = uint8_t((cmyk[ink] ^ flip) * key / 255);
}

uint8_t grey_of_rgb(const uint8_t* rgb) {  // ITU-R 601, as libjpeg and PIL
  return uint8_t((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

// In place: pixels only become smaller.
void convert_cmyk(uint8_t* row, int64_t pixels, int channels, bool inverted) {
  for (int64_t x = 0; x < pixels; ++x) {
    uint8_t rgb[3];
    rgb_of_cmyk(row + 4 * x, inverted, rgb);
    if (channels == 1)
      row[x] = grey_of_rgb(rgb);
    else
      std::copy(rgb, rgb + 3, row + 3 * x);
  }
}

}  // namespace

class JpegReader::Handle {
 public:
  Handle() {
    info.err = errors.set_up();
    errors.guarded([&] { jpeg_create_decompress(&info); });
    info.progress = limit.set_up();
  }
  ~Handle() { jpeg_destroy_decompress(&info); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bool inks() const {
    return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  }

  jpeg_decompress_struct info = {};
  JpegErrors errors = {};
  JpegScanLimit limit = {};
  JpegEntropy entropy;
};

JpegReader::JpegReader() : handle_(std::make_unique<Handle>()) {}
JpegReader::~JpegReader() = default;

int64_t JpegReader::height() const { return handle_->info.image_height; }
int64_t JpegReader::width() const { return handle_->info.image_width; }
int64_t JpegReader::channels() const { return channels_; }
bool JpegReader::converts() const { return handle_->inks(); }

void JpegReader::read_header() {
  jpeg_decompress_struct& info = handle_->info;
  handle_->errors.guarded([&] {
    jpeg_abort_decompress(&info);  // whatever an earlier picture left
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info, TRUE);
  });
}

void JpegReader::open(std::string_view bytes, int channels, int64_t max_pixels) {
  bytes_ = bytes;
  channels_ = channels;
  read_header();
  if (height() * width() > max_pixels)
    throw ImageError(
        fmt::format("JPEG: {}×{} pixels, the limit is {}; raise .max_pixels to decode it", width(),
                    height(), max_pixels));
  if (channels == 0) channels_ = handle_->info.num_components == 1 ? 1 : 3;
}

void JpegReader::start() {
  jpeg_decompress_struct& info = handle_->info;
  info.out_color_space = handle_->inks() ? JCS_CMYK : channels_ == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  handle_->errors.guarded([&] { jpeg_start_decompress(&info); });
  if (own_) own_ = handle_->entropy.install(info);
}

// What our own decoder does not take, libjpeg's judges.
template <class Read>
auto JpegReader::with_fallback(Read&& read) {
  own_ = entropy_ == Entropy::own;
  try {
    return read();
  } catch (const ImageError&) {
    if (!own_) throw;
  }
  own_ = false;
  read_header();
  return read();
}

Pixels JpegReader::read(const Box& box, int shrink, Buffer& buffer) {
  return with_fallback([&] { return read_box(box, shrink, buffer); });
}

void JpegReader::read_all(uint8_t* out) {
  with_fallback([&] { read_whole(out); });
}

Pixels JpegReader::read_box(const Box& box, int shrink, Buffer& buffer) {
  jpeg_decompress_struct& info = handle_->info;
  info.scale_num = 1;
  info.scale_denom = unsigned(shrink);
  start();
  JDIMENSION x = 0;
  handle_->errors.guarded([&] {
    int64_t left = std::max<int64_t>(0, box.x - kMargin);
    int64_t right = std::min<int64_t>(info.output_width, box.x + box.width + kMargin);
    x = JDIMENSION(left);
    auto columns = JDIMENSION(right - left);
    if (columns < info.output_width) jpeg_crop_scanline(&info, &x, &columns);
    if (box.y > 0) jpeg_skip_scanlines(&info, JDIMENSION(box.y));
  });
  int64_t pixel = info.output_components;
  int64_t stride = (int64_t(info.output_width) * pixel + 63) / 64 * 64;
  uint8_t* out = buffer.need(size_t(stride * box.height));
  read_rows(out, stride, box.height);
  handle_->errors.guarded([&] { jpeg_abort_decompress(&info); });
  return {out + (box.x - int64_t(x)) * channels_, stride};
}

void JpegReader::read_whole(uint8_t* out) {
  jpeg_decompress_struct& info = handle_->info;
  if (!converts()) {
    start();
    read_rows(out, width() * channels_, height());
    handle_->errors.guarded([&] { jpeg_abort_decompress(&info); });
    return;
  }
  thread_local Buffer inks;
  int64_t rows = height(), row_bytes = width() * channels_;
  Pixels pixels = read_box({0, 0, rows, width()}, 1, inks);
  for (int64_t y = 0; y < rows; ++y)
    std::copy_n(static_cast<const uint8_t*>(pixels.data) + y * pixels.stride, row_bytes,
                out + y * row_bytes);
  inks.trim();
}

void JpegReader::read_rows(uint8_t* out, int64_t stride, int64_t rows) {
  jpeg_decompress_struct& info = handle_->info;
  handle_->errors.guarded([&] {
    JSAMPROW lines[kRowsAtOnce];
    for (int64_t done = 0; done < rows;) {
      int64_t count = std::min(kRowsAtOnce, rows - done);
      for (int64_t line = 0; line < count; ++line) lines[line] = out + (done + line) * stride;
      done += jpeg_read_scanlines(&info, lines, JDIMENSION(count));
    }
  });
  if (!converts()) return;
  for (int64_t row = 0; row < rows; ++row)
    convert_cmyk(out + row * stride, info.output_width, channels_, info.saw_Adobe_marker != 0);
}

}  // namespace stoker::image
