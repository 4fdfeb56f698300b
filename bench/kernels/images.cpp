// Pooling, depthwise convolutions, patches, products.
#include <fmt/format.h>

#include "kernels/cases.h"

namespace stoker::bench {

namespace {

struct DepthwiseShape {
  int64_t kernel, stride;
};

ops::Conv padded_same(const Shape& x, int64_t kernel, int64_t stride) {
  return {.strides = {stride, stride},
          .padding = ops::same_padding(x, {kernel, kernel}, {stride, stride})};
}

}  // namespace

void add_images(const Sizes& sizes, std::vector<KernelCase>& cases) {
  Shape image = sizes.images_of(56, 96);
  auto pool = [&](const std::string& name, Value (*function)(const Value&, const ops::Pool&),
                  int64_t window) {
    cases.push_back({name, {{image}}, [=](const Values& x) {
                       return function(x[0], {.window = {window, window}, .strides = {2, 2}});
                     }});
  };
  pool("max pooling 2×2", ops::max_pool2d, 2);
  pool("max pooling 3×3, stride 2", ops::max_pool2d, 3);
  pool("average pooling 2×2", ops::average_pool2d, 2);
  cases.push_back({"global average pooling", {{image}}, [](const Values& x) {
                     return ops::mean(x[0], {.axes = {1, 2}});
                   }});
  for (auto [kernel, stride] : {DepthwiseShape{3, 1}, {3, 2}, {5, 1}, {5, 2}, {7, 1}})
    cases.push_back({fmt::format("depthwise {}×{}, stride {}", kernel, kernel, stride),
                     {{image}, {{kernel, kernel, image[3], 1}}},
                     [=, k = kernel, s = stride](const Values& x) {
                       return ops::depthwise_conv2d(x[0], x[1], padded_same(image, k, s));
                     }});
  Shape photo = sizes.images_of(224, 3);
  photo = {photo[0], 224, 224, 3};
  cases.push_back(
      {"patches of 16×16", {{photo, 0, false}, {{16, 16, 3, 384}}}, [](const Values& x) {
         return ops::conv2d(x[0], x[1], {.strides = {16, 16}});
       }});
}

void add_products(const Sizes& sizes, std::vector<KernelCase>& cases) {
  int64_t odd = sizes.odd() ? 1 : 0;
  auto product = [&](const std::string& name, const Shape& a, const Shape& b, ops::MatMul options) {
    cases.push_back({name, {{a}, {b}}, [options](const Values& x) {
                       return ops::matmul(x[0], x[1], options);
                     }});
  };
  Shape rows = sizes.rows_of(1024);
  int64_t inner = rows[1], batch = sizes.elements() / (196 * 6 * 64);
  product("product with 1024 columns", rows, {inner, 1024 + odd}, {});
  product("product with 1000 columns", rows, {inner, 1000 + odd}, {});
  product("product with 10 columns", rows, {inner, 10 + odd}, {});
  Shape heads = {batch, 6, 196 + odd, 64};
  product("q · kᵀ of 6 heads", heads, heads, {.transpose_b = true});
  product("scores · v of 6 heads", {batch, 6, 196 + odd, 196 + odd}, heads, {});
}

}  // namespace stoker::bench
