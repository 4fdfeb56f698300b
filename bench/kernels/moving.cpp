// Ops that only move: copies, index maps, lookups.
#include <numeric>

#include "kernels/cases.h"

namespace stoker::bench {

namespace {

using Ints = std::vector<int64_t>;

Value cropped(const Value& x) {
  const Shape& shape = x.shape();
  return ops::slice(x, {0, 1, 1, 0}, {-1, shape[1] - 2, shape[2] - 2, -1});
}

}  // namespace

void add_moving(const Sizes& sizes, std::vector<KernelCase>& cases) {
  Shape image = sizes.images_of(56, 96), rows = sizes.rows_of(1024);
  auto add = [&](const std::string& name, std::vector<Operand> operands, auto function) {
    cases.push_back({name, std::move(operands), function});
  };
  add("pad by a pixel", {{image}}, [](const Values& x) {
    return ops::pad(x[0], {0, 1, 1, 0}, {0, 1, 1, 0});
  });
  add("pad below and right", {{image}}, [](const Values& x) {
    return ops::pad(x[0], {0, 0, 0, 0}, {0, 1, 1, 0});
  });
  add("crop by a pixel", {{image}}, [](const Values& x) { return cropped(x[0]); });
  add("half of the channels", {{image}}, [](const Values& x) {
    return ops::slice(x[0], {0, 0, 0, 0}, {-1, -1, -1, x[0].shape()[3] / 2});
  });
  add("concatenate channels", {{image}, {image}}, [](const Values& x) {
    return ops::concatenate({x[0], x[1]}, 3);
  });
  add("concatenate images", {{image}, {image}}, [](const Values& x) {
    return ops::concatenate({x[0], x[1]}, 0);
  });
  add("transpose a matrix", {{rows}}, [](const Values& x) {
    return ops::transpose(x[0], Ints{1, 0});
  });
  add("transpose NHWC to NCHW", {{image}}, [](const Values& x) {
    return ops::transpose(x[0], Ints{0, 3, 1, 2});
  });
  int64_t batch = sizes.elements() / (196 * 6 * 64);
  add("transpose heads", {{{batch, 196 - int64_t(sizes.odd()), 6, 64}}}, [](const Values& x) {
    return ops::transpose(x[0], Ints{0, 2, 1, 3});
  });
  add("channel shuffle", {{image}}, [](const Values& x) {
    const Shape shape = x[0].shape();
    int64_t half = shape[3] / 2;
    Value even = ops::slice(x[0], {0, 0, 0, 0}, {-1, -1, -1, 2 * half});
    Value parts = ops::reshape(even, {shape[0] * shape[1] * shape[2], 2, half});
    return ops::transpose(parts, Ints{0, 2, 1});
  });
  Shape small = {image[0], image[1] / 2, image[2] / 2, image[3]};
  add("upsampling", {{small}}, [](const Values& x) { return UpSampling2D()(x[0]); });
  add("broadcast rows", {{{rows[1]}}},
      [rows](const Values& x) { return ops::broadcast_to(x[0], rows); });

  int64_t vocabulary = 50000, width = sizes.odd() ? 511 : 512;
  int64_t tokens = sizes.elements() / width;
  add("embedding", {{{vocabulary, width}}, {{tokens}, vocabulary, false}},
      [](const Values& x) { return ops::gather(x[0], x[1]); });
}

}  // namespace stoker::bench
