// Convolutions as networks outside the benchmarks have them: few, odd or grouped channels, dilated,
// strided, 1×1.
#include <fmt/format.h>

#include "kernels/cases.h"

namespace stoker::bench {

namespace {

struct ConvCase {
  std::string name;
  int64_t side, channels, filters, kernel = 1, stride = 1, dilation = 1, groups = 1;
};

KernelCase case_of(const Sizes& sizes, const ConvCase& c) {
  Shape x = sizes.images_of(c.side, c.channels);
  x = {x[0], x[1], x[2], c.groups == 1 ? x[3] : c.channels};
  ops::Conv options{.strides = {c.stride, c.stride},
                    .padding = ops::same_padding(x, {c.kernel, c.kernel}, {c.stride, c.stride},
                                                 {c.dilation, c.dilation}),
                    .dilation = {c.dilation, c.dilation},
                    .groups = c.groups};
  Shape kernel = {c.kernel, c.kernel, x[3] / c.groups, c.filters};
  return {"convolution " + c.name, {{x}, {kernel}}, [options](const Values& in) {
            return ops::conv2d(in[0], in[1], options);
          }};
}

}  // namespace

void add_convolutions(const Sizes& sizes, std::vector<KernelCase>& cases) {
  const ConvCase kAll[] = {
      {"1×1 to 3 channels", 56, 96, 3},
      {"1×1 to 8 channels", 56, 128, 8},
      {"1×1 of 24 channels", 56, 24, 144},
      {"1×1 of 58 channels", 28, 58, 58},
      {"1×1 of 116 channels", 14, 116, 116},
      {"1×1, 3 groups of 80", 28, 240, 240, 1, 1, 1, 3},
      {"1×1, 4 groups of 34", 28, 136, 136, 1, 1, 1, 4},
      {"1×1, 8 groups of 48", 28, 384, 384, 1, 1, 1, 8},
      {"3×3", 56, 96, 96, 3},
      {"3×3 of 32 channels", 112, 32, 32, 3},
      {"3×3, stride 2", 56, 96, 192, 3, 2},
      {"3×3, dilation 2", 24, 256, 128, 3, 1, 2},
      {"3×3, dilation 4", 24, 256, 128, 3, 1, 4},
      {"3×3, 32 groups of 4", 56, 128, 128, 3, 1, 1, 32},
      {"3×3, 32 groups of 16", 28, 512, 512, 3, 1, 1, 32},
      {"3×3, 4 groups of 24, stride 2", 56, 96, 96, 3, 2, 1, 4},
  };
  for (const ConvCase& each : kAll) cases.push_back(case_of(sizes, each));
}

}  // namespace stoker::bench
