// decode_jpeg, decode_png, decode_image
#include <fmt/format.h>

#include "data/image/option_fields.h"
#include "data/image/readers.h"
#include "data/image/step.h"
#include "data/image/workspace.h"

namespace stoker::image {

template <>
const Fields<DecodeJpeg>& image_fields() {
  static const Fields<DecodeJpeg> table = {
      {"channels", &DecodeJpeg::channels, one_of({"0", "1", "3"})},
      {"scaled", &DecodeJpeg::scaled},
      {"max_pixels", &DecodeJpeg::max_pixels, at_least(1)}};
  return table;
}

template <>
const Fields<DecodePng>& image_fields() {
  static const Fields<DecodePng> table = {
      {"channels", &DecodePng::channels, one_of({"0", "1", "3", "4"})},
      {"max_pixels", &DecodePng::max_pixels, at_least(1)}};
  return table;
}

template <>
const Fields<DecodeImage>& image_fields() {
  static const Fields<DecodeImage> table = {
      {"channels", &DecodeImage::channels, one_of({"1", "3"})},
      {"scaled", &DecodeImage::scaled},
      {"max_pixels", &DecodeImage::max_pixels, at_least(1)}};
  return table;
}

namespace {

std::string_view bytes_of(const ConstTensorView& view) {
  return *static_cast<const std::string*>(view.data);
}

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }
bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

std::string named(const char* name, int channels) {
  return channels == 3 ? name : fmt::format("{}({} channels)", name, channels);
}

// What the three have in common.
class Decode : public Step {
 public:
  bool reads_value() const override { return true; }
  TensorSpec infer(const TensorSpec& in) const override {
    check_bytes(*this, in);
    return {DType::uint8, {-1, -1, channels_ == 0 ? -1 : channels_}};
  }

 protected:
  template <class Options>
  Decode(const char* name, const Options& options)
      : channels_(options.channels), max_pixels_(options.max_pixels) {
    image_fields<Options>().check(name, options);
  }

  int channels_;
  int64_t max_pixels_;
};

class JpegStep : public Decode {
 public:
  explicit JpegStep(const DecodeJpeg& options)
      : Decode("decode_jpeg", options), scaled_(options.scaled) {}
  std::string name() const override { return named("decode_jpeg", channels_); }
  std::string options() const override { return scaled_ ? "scaled" : ""; }
  void plan(const ConstTensorView& source, Plan& plan, Rng*) const override {
    JpegReader& reader = plan.readers().jpeg;
    reader.open(bytes_of(source), channels_, max_pixels_);
    plan.decode(*this, reader.height(), reader.width(), reader.channels(), scaled_);
  }
  Pixels decode(const Box& box, int shrink, Workspace& workspace) const override {
    return workspace.plan.readers().jpeg.read(box, shrink, workspace.pixels);
  }
  void decode_to(uint8_t* out, Workspace& workspace) const override {
    workspace.plan.readers().jpeg.read_all(out);
  }

 private:
  bool scaled_;
};

class PngStep : public Decode {
 public:
  explicit PngStep(const DecodePng& options) : Decode("decode_png", options) {}
  std::string name() const override { return named("decode_png", channels_); }
  void plan(const ConstTensorView& source, Plan& plan, Rng*) const override {
    PngReader& reader = plan.readers().png;
    reader.open(bytes_of(source), channels_, max_pixels_);
    plan.decode(*this, reader.height(), reader.width(), reader.channels(), false);
  }
  Pixels decode(const Box& box, int, Workspace& workspace) const override {
    return workspace.plan.readers().png.read(box, workspace.pixels);
  }
  void decode_to(uint8_t* out, Workspace& workspace) const override {
    workspace.plan.readers().png.read_all(out);
  }
};

class ImageStep : public Decode {
 public:
  explicit ImageStep(const DecodeImage& options)
      : Decode("decode_image", options),
        jpeg_({options.channels, options.scaled, options.max_pixels}),
        png_({options.channels, options.max_pixels}) {}
  std::string name() const override { return named("decode_image", channels_); }
  std::string options() const override { return jpeg_.options(); }
  // The plan refers to the step that knows the format.
  void plan(const ConstTensorView& source, Plan& plan, Rng* rng) const override {
    std::string_view bytes = bytes_of(source);
    if (is_jpeg(bytes)) return jpeg_.plan(source, plan, rng);
    if (is_png(bytes)) return png_.plan(source, plan, rng);
    std::string begin;
    for (char c : bytes.substr(0, 8)) begin += fmt::format(" {:02x}", uint8_t(c));
    throw ImageError(fmt::format("decode_image: neither JPEG nor PNG: {} bytes that begin with{}",
                                 bytes.size(), begin.empty() ? " nothing" : begin));
  }

 private:
  JpegStep jpeg_;
  PngStep png_;
};

}  // namespace

Op decode_jpeg(const DecodeJpeg& options) { return Op(std::make_shared<JpegStep>(options)); }
Op decode_png(const DecodePng& options) { return Op(std::make_shared<PngStep>(options)); }
Op decode_image(const DecodeImage& options) { return Op(std::make_shared<ImageStep>(options)); }

}  // namespace stoker::image
