// The element types of tensors, and the two 16-bit floats that C++20 does not have.
#pragma once

#include <bit>
#include <cmath>
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
  bytes,  // one byte string per element: paths, encoded images, text; lives on the host only
};

// "float32", "bool", …; the spelling of Keras and NumPy.
std::string_view name(DType dtype);
// The inverse; a wrong name is a ValueError that lists the right ones.
DType dtype_from_name(std::string_view name);
// Bytes an element takes in memory (bytes: sizeof(std::string)).
size_t size_of(DType dtype);
bool is_floating(DType dtype);
bool is_integer(DType dtype);  // int8 … int64 and uint8, not bool
// What two dtypes become when they meet, so that both keep their meaning: bool < integers < floats,
// the longer of two integers (uint8 and int8: int16), float32 where two floats differ.
DType promoted(DType a, DType b);
// Whether `number` is itself in `dtype`, up to a float's rounding: an integer dtype holds the whole
// numbers of its range; in a float nothing finite becomes infinite and only zero is zero.
bool holds(DType dtype, double number);

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

// dtype_of<float> == DType::float32, …: the C++ types that tensors hold. For any other type this is
// one compile error, which says what to use instead.
template <class T>
constexpr DType no_tensor_holds() {
  static_assert(!std::is_floating_point_v<T>,
                "stoker has no float64 tensors: use float; Tensor::from takes double values and "
                "keeps them as float32, to_vector<double>() reads them back");
  static_assert(!std::is_same_v<T, char>,
                "no tensor holds char: use int8_t or uint8_t for numbers, std::string for text");
  static_assert(!std::is_integral_v<T> || std::is_same_v<T, char> || std::is_signed_v<T>,
                "stoker has no tensors of this unsigned type: use uint8_t, int32_t or int64_t");
  static_assert(!std::is_integral_v<T> || std::is_same_v<T, char> || std::is_unsigned_v<T>,
                "int64 tensors hold int64_t, which is not this type here: use int64_t");
  static_assert(
      std::is_arithmetic_v<T>,
      "no tensor holds this type: use float, Float16, BFloat16, int8_t, int16_t, int32_t, "
      "int64_t, uint8_t, bool or std::string");
  return DType::float32;
}
template <class T>
struct DTypeOf : std::integral_constant<DType, no_tensor_holds<T>()> {};
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
inline constexpr DType dtype_of = DTypeOf<std::remove_cv_t<T>>::value;

// What values of other types are kept as: double as float32, unsigned and long long integers as
// int32 or int64, text as bytes. Tensor::from and the functions of a dataset convert to it.
template <class T>
struct StoredAs {
  using type = T;
};
template <>
struct StoredAs<double> {
  using type = float;
};
template <>
struct StoredAs<long double> {
  using type = float;
};
template <>
struct StoredAs<unsigned short> {
  using type = int32_t;
};
template <>
struct StoredAs<unsigned int> {
  using type = int64_t;
};
template <>
struct StoredAs<unsigned long> {
  using type = int64_t;
};
template <>
struct StoredAs<unsigned long long> {
  using type = int64_t;
};
template <>
struct StoredAs<long long> {
  using type = int64_t;
};
template <>
struct StoredAs<const char*> {
  using type = std::string;
};
template <class T>
using Stored = typename StoredAs<T>::type;

// What a T is read back from: double and long long from what holds them, all others from their own
// dtype.
template <class T>
using ReadAs =
    std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, long long>, Stored<T>, T>;

[[noreturn]] void fail_to_store(const std::string& value, DType dtype);  // ValueError

// `value` as Stored<T>. ValueError for one that it cannot hold: 1e300 as float32, 2^63 as int64.
template <class T>
Stored<T> stored(const T& value) {
  auto kept = Stored<T>(value);
  if constexpr (std::is_floating_point_v<T> && !std::is_same_v<T, float>) {
    if (std::isinf(kept) && !std::isinf(value))
      fail_to_store(std::to_string(value), DType::float32);
  } else if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(int64_t)) {
    if (kept < 0) fail_to_store(std::to_string(value), DType::int64);
  }
  return kept;
}

}  // namespace stoker
