#include "data/image/png.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <png.h>

#include "data/image/scratch.h"

namespace stoker::image {
namespace {

constexpr png_alloc_size_t kChunkBytes = 8 << 20;  // of text, profiles and the like
constexpr png_uint_32 kMostPngExtent = 1 << 24;    // pixels are limited by the caller

}  // namespace

// libpng leaves a failed call by longjmp; guarded() makes an exception of it. Nothing with a
// destructor may live inside a guarded call.
class PngReader::Handle {
 public:
  explicit Handle(std::string_view bytes) : rest(bytes) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, ignore);
    if (png == nullptr) throw ImageError("PNG: out of memory");
    info = png_create_info_struct(png);
  }
  ~Handle() { png_destroy_read_struct(&png, &info, nullptr); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  template <class Call>
  void guarded(Call&& call) {
    if (setjmp(jump) != 0) throw ImageError(std::string("PNG: ") + text);
    call();
  }

  void read_header();
  void ask_for(int channels);
  void expect_last_row();

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view rest;                                // not yet read
  size_t allowed = std::numeric_limits<size_t>::max();  // of them
  std::jmp_buf jump;
  char text[200] = "";
  int64_t height = 0, width = 0, channels = 0;
  int passes = 1;

 private:
  static void leave(png_structp png, png_const_charp what) {
    auto& handle = *static_cast<Handle*>(png_get_error_ptr(png));
    std::snprintf(handle.text, sizeof(handle.text), "%s", what);
    std::longjmp(handle.jump, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep out, size_t count) {
    auto& handle = *static_cast<Handle*>(png_get_io_ptr(png));
    if (count > handle.rest.size()) png_error(png, "premature end of the file");
    if (count > handle.allowed) png_error(png, "more data than its header says");
    handle.allowed -= count;
    std::memcpy(out, handle.rest.data(), count);
    handle.rest.remove_prefix(count);
  }
};

// Behind the last row libpng inflates whatever follows, to find the end of the stream: a picture of
// 8×8 pixels with a gigabyte behind it took six seconds. What that row and the end can take is
// known.
void PngReader::Handle::expect_last_row() {
  constexpr size_t kEnds = size_t(32) << 10;  // chunk headers, and what libpng reads at a time
  allowed = 2 * png_get_rowbytes(png, info) + 8 * size_t(width) + kEnds;
}

void PngReader::Handle::read_header() {
  guarded([&] {
    png_set_read_fn(png, this, read);
    png_set_user_limits(png, kMostPngExtent, kMostPngExtent);
    png_set_chunk_malloc_max(png, kChunkBytes);
    png_set_chunk_cache_max(png, 64);
    png_set_option(png, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);
    png_read_info(png, info);
  });
  height = png_get_image_height(png, info);
  width = png_get_image_width(png, info);
}

// 8 bits a channel, of the channels that are wanted.
void PngReader::Handle::ask_for(int wanted) {
  guarded([&] {
    bool grey = (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) == 0;
    bool alpha = (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) != 0 ||
                 png_get_valid(png, info, PNG_INFO_tRNS) != 0;
    png_set_expand(png);
    png_set_scale_16(png);
    if (wanted == 1 || wanted == 3) png_set_strip_alpha(png);
    if (wanted >= 3 && grey) png_set_gray_to_rgb(png);
    if (wanted == 1 && !grey) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, -1, -1);
    if (wanted == 4 && !alpha) png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
    passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
  channels = png_get_channels(png, info);
}

PngReader::PngReader() = default;
PngReader::~PngReader() = default;

int64_t PngReader::height() const { return handle_->height; }
int64_t PngReader::width() const { return handle_->width; }
int64_t PngReader::channels() const { return handle_->channels; }

void PngReader::open(std::string_view bytes, int channels, int64_t max_pixels) {
  handle_ = std::make_unique<Handle>(bytes);
  handle_->read_header();
  if (height() * width() > max_pixels)
    throw ImageError(
        fmt::format("PNG: {}×{} pixels, the limit is {}; raise .max_pixels to decode it", width(),
                    height(), max_pixels));
  handle_->ask_for(channels);
}

// Rows begin … end - 1 into `out`; those above go to `unused`, a row long.
void PngReader::read_rows(int64_t begin, int64_t end, uint8_t* out, uint8_t* unused) {
  int64_t stride = width() * channels();
  // Interlaced rows are completed pass by pass, from what is there.
  if (handle_->passes > 1) std::memset(out, 0, size_t((end - begin) * stride));
  handle_->guarded([&] {
    for (int pass = 0; pass < handle_->passes; ++pass)
      for (int64_t y = 0; y < end; ++y) {
        if (y + 1 == height() && pass + 1 == handle_->passes) handle_->expect_last_row();
        png_read_row(handle_->png, y < begin ? unused : out + (y - begin) * stride, nullptr);
      }
  });
}

Pixels PngReader::read(const Box& box, Buffer& buffer) {
  int64_t stride = width() * channels();
  bool interlaced = handle_->passes > 1;
  int64_t begin = interlaced ? 0 : box.y, end = interlaced ? height() : box.y + box.height;
  uint8_t* out = buffer.need(size_t((end - begin + 1) * stride));
  read_rows(begin, end, out, out + (end - begin) * stride);
  const uint8_t* first = out + (box.y - begin) * stride + box.x * channels();
  handle_.reset();
  return {first, stride};
}

void PngReader::read_all(uint8_t* out) {
  read_rows(0, height(), out, nullptr);
  handle_.reset();
}

}  // namespace stoker::image
