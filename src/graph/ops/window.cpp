#include "graph/ops/window.h"

#include <algorithm>

#include <fmt/format.h>

namespace stoker::rules {

std::array<int64_t, 2> read_pair(const Attrs& attrs, std::string_view name) {
  const auto& values = attrs.get<Ints>(name);
  expect_length(values, 2, name);
  if (values[0] < 1 || values[1] < 1)
    throw ShapeError(
        fmt::format("expected {} of 1 or more, got [{}, {}]", name, values[0], values[1]));
  return {values[0], values[1]};
}

Window read_window(const Attrs& attrs, std::array<int64_t, 2> size) {
  const auto& pads = attrs.get<Ints>("pads");
  expect_length(pads, 4, "pads");
  if (std::ranges::min(pads) < 0)
    throw ShapeError(fmt::format("expected padding of 0 or more, got [{}, {}, {}, {}]", pads[0],
                                 pads[1], pads[2], pads[3]));
  return {.size = size,
          .strides = read_pair(attrs, "strides"),
          .pads = {pads[0], pads[1], pads[2], pads[3]}};
}

std::array<int64_t, 2> output_extent(const Shape& image, const Window& window) {
  std::array<int64_t, 2> extent{}, padded{}, reach{};
  for (size_t i = 0; i < 2; ++i) {
    padded[i] = image[int(i) + 1] + window.pads[2 * i] + window.pads[2 * i + 1];
    reach[i] = window.dilation[i] * (window.size[i] - 1) + 1;
    extent[i] = (padded[i] - reach[i]) / window.strides[i] + 1;
  }
  if (padded[0] < reach[0] || padded[1] < reach[1])
    throw ShapeError(fmt::format(
        "expected an image of at least {}x{} pixels with its padding, got {}x{} from {}; "
        "use padding \"same\" or a smaller window",
        reach[0], reach[1], padded[0], padded[1], to_string(image)));
  return extent;
}

}  // namespace stoker::rules
