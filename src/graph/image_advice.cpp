#include "graph/image_advice.h"

#include <cmath>

#include <fmt/format.h>

namespace stoker {

std::string image_advice(const Shape& input, int64_t channels) {
  if (input.rank() == 3)
    return fmt::format("add Reshape({{{}, {}, 1}}) before it", input[1], input[2]);
  if (input.rank() != 2) return "";
  if (channels < 1) return "add Reshape({height, width, channels}) before it";
  if (input[1] < 1 || input[1] % channels != 0) return "";
  auto side = int64_t(std::lround(std::sqrt(double(input[1] / channels))));
  if (side * side * channels != input[1])
    return fmt::format("add Reshape({{height, width, {}}}) before it", channels);
  return fmt::format("add Reshape({{{}, {}, {}}}) before it", side, side, channels);
}

}  // namespace stoker
