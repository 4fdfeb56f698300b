// Convolution gradients at the sizes for which the CPU engine leaves oneDNN's kernels: tiles of
// channels and filters that do not come out even, strides, dilation, padding that differs on each
// side.
#include <gtest/gtest.h>

#include "support/op_checks.h"
#include "support/run_op.h"
#include "support/tsan.h"

namespace stoker::test {

namespace {

struct Geometry {
  Shape x, y;
  Ints kernel, strides, pads, dilation;
};

void PrintTo(const Geometry& at, std::ostream* out) {
  *out << to_string(at.x) << " to " << to_string(at.y);
}

Attrs attrs_of(const Geometry& at) {
  return {{"strides", at.strides},
          {"pads", at.pads},
          {"dilation", at.dilation},
          {"groups", int64_t(1)}};
}

class ConvolutionGradients : public ::testing::TestWithParam<Geometry> {
 protected:
  void SetUp() override { STOKER_SKIP_UNDER_TSAN(); }
  std::string compare(const std::string& op, const OpCase& op_case) {
    return compare_with_reference(backend("cpu"), op, op_case, DType::float32, fresh_seed());
  }
};

TEST_P(ConvolutionGradients, OfTheWeightsMatchTheReference) {
  const Geometry& at = GetParam();
  for (bool bias : {false, true}) {
    Attrs attrs = attrs_of(at);
    attrs.set("kernel", at.kernel);
    attrs.set("bias", bias);
    double products = double(at.y[0] * at.y[1] * at.y[2]);
    EXPECT_EQ(compare("conv2d_weight_grad", {"", attrs, {{at.x}, {at.y}}, sums(products, {0, 1})}),
              "");
  }
}

TEST_P(ConvolutionGradients, OfTheInputMatchTheReference) {
  const Geometry& at = GetParam();
  Attrs attrs = attrs_of(at);
  attrs.set("input_shape", Ints(at.x.begin(), at.x.end()));
  Shape w = {at.kernel[0], at.kernel[1], at.x[3], at.y[3]};
  double products = double(at.kernel[0] * at.kernel[1] * at.y[3]);
  EXPECT_EQ(compare("conv2d_input_grad", {"", attrs, {{at.y}, {w}}, sums(products, {0, 1})}), "");
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, ConvolutionGradients,
    ::testing::Values(
        // several tiles of filters, the last one narrow; channels that are no multiple of a tile
        Geometry{{3, 7, 6, 20}, {3, 5, 4, 130}, {3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
        Geometry{{3, 6, 6, 16}, {3, 6, 6, 128}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
        // strides, with a remainder that no window reaches
        Geometry{{2, 10, 9, 17}, {2, 5, 4, 64}, {3, 3}, {2, 2}, {1, 1, 0, 1}, {1, 1}},
        Geometry{{1, 9, 12, 16}, {1, 3, 6, 48}, {2, 3}, {3, 2}, {0, 0, 1, 0}, {1, 1}},
        // dilation, and padding wider than a tap's reach
        Geometry{{2, 8, 8, 16}, {2, 8, 8, 80}, {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}},
        Geometry{{2, 4, 5, 24}, {2, 3, 3, 64}, {3, 3}, {2, 2}, {2, 1, 2, 0}, {1, 1}},
        // blocks of eight channels and filters: two and three, four, five, seven of filters
        Geometry{{3, 7, 6, 8}, {3, 5, 4, 16}, {3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
        Geometry{{2, 13, 12, 24}, {2, 13, 12, 32}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
        Geometry{{1, 9, 9, 16}, {1, 5, 5, 40}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
        Geometry{{2, 20, 17, 8}, {2, 18, 15, 56}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {2, 2}},
        // more rows than a band of packed gradients
        Geometry{{1, 40, 34, 16}, {1, 40, 34, 70}, {3, 1}, {1, 1}, {1, 1, 0, 0}, {1, 1}}));

}  // namespace

}  // namespace stoker::test
