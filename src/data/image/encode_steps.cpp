// encode_jpeg, and add_restart_markers: bytes out
#include <fmt/format.h>

#include "data/image/jpeg_writer.h"
#include "data/image/option_fields.h"
#include "data/image/step.h"

namespace stoker::image {

template <>
const Fields<EncodeJpeg>& image_fields() {
  static const Fields<EncodeJpeg> table = {{"quality", &EncodeJpeg::quality, between(1, 100)},
                                           {"subsampled", &EncodeJpeg::subsampled},
                                           {"progressive", &EncodeJpeg::progressive}};
  return table;
}

template <>
const Fields<RestartMarkers>& image_fields() {
  static const Fields<RestartMarkers> table = {{"mcus", &RestartMarkers::mcus, at_least(1)}};
  return table;
}

namespace {

std::string& bytes_of(const TensorView& view) { return *static_cast<std::string*>(view.data); }

class EncodeStep : public Step {
 public:
  explicit EncodeStep(const EncodeJpeg& options) : options_(options) {
    image_fields<EncodeJpeg>().check("encode_jpeg", options);
  }
  std::string name() const override { return fmt::format("encode_jpeg({})", options_.quality); }
  std::string options() const override {
    return fmt::format("{}{}", options_.subsampled ? "subsampled " : "",
                       options_.progressive ? "progressive" : "");
  }
  TensorSpec infer(const TensorSpec& in) const override {
    check_picture(*this, in);
    if (in.dtype != DType::uint8)
      refuse(*this, in, "expected uint8: put image::convert(DType::uint8) before it");
    if (in.shape[2] != -1 && in.shape[2] != 1 && in.shape[2] != 3)
      refuse(*this, in, "expected one or three channels");
    if (bad_extent(in.shape[0]) || bad_extent(in.shape[1]))
      refuse(*this, in, "JPEG holds 1 … 65500 rows and columns");
    return {DType::bytes, {}};
  }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    plan.whole(*this, {DType::bytes, {}});
  }
  void run(const ConstTensorView& in, const TensorView& out) const override {
    write_jpeg(Image(in), options_, bytes_of(out));
  }

 private:
  static bool bad_extent(int64_t extent) { return extent == 0 || extent > 65500; }

  EncodeJpeg options_;
};

class RestartStep : public Step {
 public:
  explicit RestartStep(const RestartMarkers& options) : options_(options) {
    image_fields<RestartMarkers>().check("add_restart_markers", options);
  }
  std::string name() const override {
    return fmt::format("add_restart_markers({})", options_.mcus);
  }
  TensorSpec infer(const TensorSpec& in) const override {
    check_bytes(*this, in);
    return in;
  }
  void plan(const ConstTensorView&, Plan& plan, Rng*) const override {
    plan.whole(*this, plan.value());
  }
  void run(const ConstTensorView& in, const TensorView& out) const override {
    rewrite_jpeg(*static_cast<const std::string*>(in.data), options_, bytes_of(out));
  }

 private:
  RestartMarkers options_;
};

}  // namespace

Op encode_jpeg(const EncodeJpeg& options) { return Op(std::make_shared<EncodeStep>(options)); }
Op add_restart_markers(const RestartMarkers& options) {
  return Op(std::make_shared<RestartStep>(options));
}

}  // namespace stoker::image
