// The element types of tensors, and the two 16-bit floats that C++20 does not have.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace stoker {

enum class DType : uint8_t {
  float32,
  float16,
  bfloat16,
  int8,
  int16,
  int32,
  int64,
  uint8,
  bool_,
  bytes,  // one string of bytes an element: paths, encoded images, text; lives on the host only
};

// "float32", "bool", …; the spelling of Keras and NumPy.
std::string_view name(DType dtype);
// The inverse; a wrong name is a ValueError that lists the right ones.
DType dtype_from_name(std::string_view name);
// Bytes an element takes in memory (bytes: sizeof(std::string)).
size_t size_of(DType dtype);
bool is_floating(DType dtype);
bool is_integer(DType dtype);  // int8 … int64 and uint8, not bool

// IEEE half precision and bfloat16 as storage, which convert to and from float; to nearest even.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value);
  explicit operator float() const;
  friend bool operator==(Float16 a, Float16 b) { return float(a) == float(b); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    bool nan = (u & 0x7fffffffU) > 0x7f800000U;
    bits = nan ? uint16_t((u >> 16) | 0x40U) : uint16_t((u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
  friend bool operator==(BFloat16 a, BFloat16 b) { return float(a) == float(b); }
};

// dtype_of<float> == DType::float32, …
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::float32> {};
template <>
struct DTypeOf<Float16> : std::integral_constant<DType, DType::float16> {};
template <>
struct DTypeOf<BFloat16> : std::integral_constant<DType, DType::bfloat16> {};
template <>
struct DTypeOf<int8_t> : std::integral_constant<DType, DType::int8> {};
template <>
struct DTypeOf<int16_t> : std::integral_constant<DType, DType::int16> {};
template <>
struct DTypeOf<int32_t> : std::integral_constant<DType, DType::int32> {};
template <>
struct DTypeOf<int64_t> : std::integral_constant<DType, DType::int64> {};
template <>
struct DTypeOf<uint8_t> : std::integral_constant<DType, DType::uint8> {};
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::bool_> {};
template <>
struct DTypeOf<std::string> : std::integral_constant<DType, DType::bytes> {};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace stoker
