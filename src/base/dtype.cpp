#include <stoker/dtype.h>

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stoker/error.h>

#include "base/convert.h"
#include "base/visit_dtype.h"

namespace stoker {

namespace {

struct DTypeInfo {
  std::string_view name;
  size_t size;
};

// In the order of the enum.
constexpr std::array<DTypeInfo, 10> kInfo = {{
    {"float32", 4},
    {"float16", 2},
    {"bfloat16", 2},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"bool", sizeof(bool)},
    {"bytes", sizeof(std::string)},
}};

const DTypeInfo& info(DType dtype) {
  if (size_t(dtype) >= kInfo.size())
    throw ValueError(fmt::format("no dtype has the number {}", int(dtype)));
  return kInfo[size_t(dtype)];
}

uint16_t half_from_float(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  auto sign = uint16_t(bits >> 16 & 0x8000U);
  uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U)  // NaN: made quiet, as the hardware does
    return sign | 0x7e00U | uint16_t(magnitude >> 13 & 0x1ffU);
  if (magnitude >= 0x477ff000U)  // 65520, halfway past the largest half, and above: infinite
    return sign | 0x7c00U;
  if (magnitude >= 0x38800000U) {  // 2^-14: a normal half; rebias the exponent by 15 - 127
    uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
    return sign | uint16_t((rounded - 0x38000000U) >> 13);
  }
  // A subnormal half counts multiples of 2^-24. Adding 0.5, whose last bit is worth 2^-24, lets the
  // addition itself round to nearest even; the count is then what was added to the bits of 0.5.
  float shifted = std::bit_cast<float>(magnitude) + 0.5F;
  return sign | uint16_t(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5F));
}

float float_from_half(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000U) << 16;
  uint32_t exponent = half >> 10 & 0x1fU;
  uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0) {
    float magnitude = float(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  uint32_t float_exponent = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | float_exponent << 23 | mantissa << 13);
}

}  // namespace

std::string_view name(DType dtype) { return info(dtype).name; }

DType dtype_from_name(std::string_view name) {
  std::array<std::string_view, kInfo.size()> names;
  for (size_t i = 0; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) return DType(i);
    names[i] = kInfo[i].name;
  }
  throw ValueError(
      fmt::format("no dtype is called \"{}\"; there are {}", name, fmt::join(names, ", ")));
}

size_t size_of(DType dtype) { return info(dtype).size; }

bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
}

bool is_integer(DType dtype) { return dtype >= DType::int8 && dtype <= DType::uint8; }

Float16::Float16(float value) : bits(half_from_float(value)) {}

Float16::operator float() const { return float_from_half(bits); }

DType promoted(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) && is_floating(b)) return DType::float32;
  if (is_floating(a) || b == DType::bool_) return a;
  if (is_floating(b) || a == DType::bool_) return b;
  if (size_of(a) == size_of(b)) return DType::int16;  // uint8 and int8
  return size_of(a) > size_of(b) ? a : b;
}

bool holds(DType dtype, double number) {
  return visit_numeric(dtype, [&]<class T>(std::type_identity<T>) {
    if (is_floating(dtype)) {
      auto kept = convert<float>(convert<T>(number));
      return std::isfinite(kept) == std::isfinite(number) && (kept == 0) == (number == 0);
    }
    // From 2^63 on, int64 ends before double does: convert() stops at 2^63 - 1.
    return number < 0x1p63 && convert<double>(convert<T>(number)) == number;
  });
}

void fail_to_store(const std::string& value, DType dtype) {
  throw ValueError(fmt::format("{} is beyond {}; scale it before it becomes part of a tensor",
                               value, name(dtype)));
}

}  // namespace stoker
