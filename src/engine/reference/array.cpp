#include "engine/reference/array.h"

#include "base/convert.h"
#include "base/visit_dtype.h"

namespace stoker::reference {

Number rounded(Number value, DType dtype) {
  return visit_numeric(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return Number(convert<T>(convert<int64_t>(value)));
    else
      return convert<Number>(convert<T>(value));
  });
}

void round(Array& array, Rounding rounding) {
  if (rounding == Rounding::exact && is_floating(array.spec.dtype)) return;
  for (Number& value : array.data) value = rounded(value, array.spec.dtype);
}

void load(const Tensor& tensor, Array& array) {
  visit_numeric(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* from = tensor.data<T>();
    for (int64_t i = 0; i < array.size(); ++i) array[i] = convert<Number>(from[i]);
  });
}

Array to_array(const Tensor& tensor) {
  Array array(tensor.spec());
  load(tensor, array);
  return array;
}

Tensor to_tensor(const Array& array) {
  Tensor tensor(array.spec.dtype, array.shape());
  visit_numeric(array.spec.dtype, [&]<class T>(std::type_identity<T>) {
    T* to = tensor.data_mut<T>();
    for (int64_t i = 0; i < array.size(); ++i) to[i] = convert<T>(array[i]);
  });
  return tensor;
}

}  // namespace stoker::reference
