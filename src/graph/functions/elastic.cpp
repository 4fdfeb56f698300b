// Pictures bent by a smooth random field.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_image.h>
#include <stoker/ops_random.h>

#include "graph/functions/pictures.h"
#include "graph/functions/sampling.h"

namespace stoker::ops::image {

Value displaced(const Value& x, const Value& by, const Sampling& how) {
  int64_t height = x.shape()[1], width = x.shape()[2];
  Values grid = meshgrid({arange(Step(0), Step(width), Step(1), DType::float32),
                          arange(Step(0), Step(height), Step(1), DType::float32)});
  return sampled(x, reshape(grid[1], {1, -1}) + by, reshape(grid[0], {1, -1}) + by, how);
}

Value elastic_transform(const Value& images, const Elastic& options) {
  Sampling how{options.interpolation, options.fill_mode, options.fill_value};
  expect_sampling("elastic_transform", how);
  if (!(options.sigma > 0 && options.sigma <= 1e6))
    throw ValueError(fmt::format("elastic_transform: sigma must be above 0 and at most 1e6, got {}",
                                 options.sigma));
  auto bent = [&](const Value& x) {
    int64_t batch = x.shape()[0], height = x.shape()[1], width = x.shape()[2];
    Value noise =
        random::normal({batch, height, width, 1}, {.stddev = options.sigma, .seed = options.seed});
    int64_t side = 6 * int64_t(options.sigma) | 1;
    Value smooth = gaussian_blur(
        noise, {.kernel_size = {side, side}, .sigma = {options.sigma, options.sigma}});
    return displaced(x, reshape(smooth, {batch, height * width}) * options.alpha, how);
  };
  return on_pictures("elastic_transform", images,
                     [&](const Value& pictures) { return in_floats(pictures, bent); });
}

}  // namespace stoker::ops::image
