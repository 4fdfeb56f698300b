#include "data/image/png_writer.h"

#include <csetjmp>
#include <cstdio>

#include <fmt/format.h>
#include <png.h>

namespace stoker::image {
namespace {

// libpng leaves a failed call by longjmp; guarded() makes an exception of it.
class PngWriter {
 public:
  explicit PngWriter(std::string& out) : out_(&out) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, leave, ignore);
    if (png_ == nullptr) throw ImageError("PNG: out of memory");
    info_ = png_create_info_struct(png_);
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  void write(const Image& picture, int colours) {
    guarded([&] {
      png_set_write_fn(png_, this, append, flush);
      png_set_IHDR(png_, info_, png_uint_32(picture.width), png_uint_32(picture.height), 8, colours,
                   PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
      for (int64_t y = 0; y < picture.height; ++y) png_write_row(png_, picture.row(y).data());
      png_write_end(png_, info_);
    });
  }

 private:
  template <class Call>
  void guarded(Call&& call) {
    if (setjmp(jump_) != 0) throw ImageError(std::string("PNG: ") + text_);
    call();
  }
  static void leave(png_structp png, png_const_charp what) {
    auto& writer = *static_cast<PngWriter*>(png_get_error_ptr(png));
    std::snprintf(writer.text_, sizeof(writer.text_), "%s", what);
    std::longjmp(writer.jump_, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void append(png_structp png, png_bytep bytes, size_t count) {
    auto& writer = *static_cast<PngWriter*>(png_get_io_ptr(png));
    writer.out_->append(reinterpret_cast<const char*>(bytes), count);
  }
  static void flush(png_structp) {}

  std::string* out_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_;
  char text_[200] = "";
};

int colour_type(int64_t channels) {
  switch (channels) {
    case 1:
      return PNG_COLOR_TYPE_GRAY;
    case 3:
      return PNG_COLOR_TYPE_RGB;
    case 4:
      return PNG_COLOR_TYPE_RGB_ALPHA;
    default:
      throw ImageError(fmt::format("PNG: expected 1, 3 or 4 channels, got {}", channels));
  }
}

}  // namespace

void write_png(const Image& picture, std::string& out) {
  constexpr int64_t kMost = int64_t(1) << 30;
  if (picture.height < 1 || picture.width < 1 || picture.height > kMost || picture.width > kMost)
    throw ImageError(fmt::format("PNG: a picture of {}×{} pixels", picture.width, picture.height));
  out.clear();
  PngWriter(out).write(picture, colour_type(picture.channels));
}

}  // namespace stoker::image
