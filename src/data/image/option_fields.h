// What the options of image operations may be (base/fields.h), each beside its operation.
#pragma once

#include <array>

#include <fmt/format.h>
#include <stoker/image.h>

#include "base/fields.h"

namespace stoker {

template <>
struct FieldType<image::ResizeMethod>
    : EnumField<FieldType<image::ResizeMethod>, image::ResizeMethod> {
  static constexpr std::array<std::string_view, 3> kNames = {"bilinear", "nearest", "area"};
};

template <>
struct FieldType<image::Range> : fields::PlainField {
  static constexpr const char* kName = "two numbers, low and high";
  static void write(Attrs& attrs, std::string_view name, const image::Range& value) {
    attrs.set(name, Doubles{value.low, value.high});
  }
  static bool read(const Attrs& attrs, std::string_view name, image::Range& value) {
    Doubles given;
    if (!FieldType<Doubles>::read(attrs, name, given) || given.size() != 2) return false;
    value = {given[0], given[1]};
    return true;
  }
  static std::string text(const image::Range& value) {
    return fields::list_text({value.low, value.high});
  }
};

}  // namespace stoker

namespace stoker::image {

template <class Options>
const Fields<Options>& image_fields();
template <>
const Fields<DecodeJpeg>& image_fields();
template <>
const Fields<DecodePng>& image_fields();
template <>
const Fields<DecodeImage>& image_fields();
template <>
const Fields<EncodeJpeg>& image_fields();
template <>
const Fields<RestartMarkers>& image_fields();
template <>
const Fields<Resize>& image_fields();
template <>
const Fields<RandomCrop>& image_fields();
template <>
const Fields<RandomResizedCrop>& image_fields();

}  // namespace stoker::image
