#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <stoker/tensor_view.h>

namespace stoker {

void ConstTensorView::check_view_dtype(DType asked, DType got) {
  if (asked != got)
    throw ValueError(
        fmt::format("the view holds {}, but {} was asked for", name(got), name(asked)));
}

void copy_values(const ConstTensorView& from, const TensorView& to) {
  if (from.dtype != to.dtype || !(from.shape == to.shape))
    throw ShapeError(fmt::format("cannot copy {} {} to {} {}", name(from.dtype),
                                 to_string(from.shape), name(to.dtype), to_string(to.shape)));
  int64_t count = from.elements();
  if (from.dtype == DType::bytes) {
    const auto* strings = static_cast<const std::string*>(from.data);
    std::copy(strings, strings + count, static_cast<std::string*>(to.data));
  } else if (count > 0) {
    std::memcpy(to.data, from.data, size_t(count) * size_of(from.dtype));
  }
}

}  // namespace stoker
