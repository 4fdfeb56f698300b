// From a DType that is known at run time to a C++ type that is known at compile time.
#pragma once

#include <type_traits>
#include <utility>

#include <stoker/dtype.h>
#include <stoker/error.h>

namespace stoker {

// Calls body(std::type_identity<T>{}) with the C++ type of a numeric dtype (bool included):
//   visit_numeric(tensor.dtype(), [&]<class T>(std::type_identity<T>) { sum(tensor.values<T>());
//   });
// A ShapeError for bytes, which no arithmetic takes.
template <class Body>
decltype(auto) visit_numeric(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::float32:
      return body(std::type_identity<float>{});
    case DType::float16:
      return body(std::type_identity<Float16>{});
    case DType::bfloat16:
      return body(std::type_identity<BFloat16>{});
    case DType::int8:
      return body(std::type_identity<int8_t>{});
    case DType::int16:
      return body(std::type_identity<int16_t>{});
    case DType::int32:
      return body(std::type_identity<int32_t>{});
    case DType::int64:
      return body(std::type_identity<int64_t>{});
    case DType::uint8:
      return body(std::type_identity<uint8_t>{});
    case DType::bool_:
      return body(std::type_identity<bool>{});
    case DType::bytes:
      break;
  }
  throw ShapeError("a tensor of bytes holds no numbers");
}

}  // namespace stoker
